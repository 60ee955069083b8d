import type { Secrets } from '../../platform/secrets.ts'
import {
  deletePasskey,
  insertPasskey,
  renamePasskey as rename,
  type NewPasskey,
} from '../../store/accounts/passkeys.ts'
import type { Tx } from '../../store/database.ts'
import type { Person } from '../actor.ts'
import { auditEverywhere } from '../audit.ts'
import { postMail } from '../mails.ts'
import { conflict, notThere } from '../refusals.ts'

interface AddedPasskey {
  passkey: Omit<NewPasskey, 'userId'>
  /** Where the person is told of it. */
  email: string
  installation: { secrets: Secrets; consoleUrl: string }
}

export async function addPasskey(tx: Tx, person: Person, { passkey, email, installation }: AddedPasskey) {
  if (!(await insertPasskey(tx, { ...passkey, userId: person.id }))) throw conflict('This passkey was added before.')
  await auditEverywhere(tx, person, 'user.passkey_added')
  const data = { link: `${installation.consoleUrl}/account` }
  await postMail(tx, installation.secrets, { recipient: email, template: 'passkey_added', data })
}

export async function renamePasskey(
  tx: Tx,
  person: Person,
  { passkeyId, name }: { passkeyId: string; name: string },
): Promise<void> {
  if (!(await rename(tx, person.id, passkeyId, name))) throw notThere('passkey')
  await auditEverywhere(tx, person, 'user.passkey_renamed')
}

export async function removePasskey(tx: Tx, person: Person, { passkeyId }: { passkeyId: string }): Promise<void> {
  if (!(await deletePasskey(tx, person.id, passkeyId))) throw notThere('passkey')
  await auditEverywhere(tx, person, 'user.passkey_removed')
}
