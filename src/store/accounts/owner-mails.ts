import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import type { MailData, MailTemplate } from '../../rules/accounts/mails.ts'
import type { Db } from '../database.ts'
import { insertMail } from './mails.ts'
import { listMembers } from './members.ts'

/** Puts a mail for each owner of the tenant's publisher into the outbox: sent if and only if the transaction is committed. */
export async function mailOwners<Template extends MailTemplate>(
  tx: Db,
  secrets: Secrets,
  mail: { template: Template; data: MailData[Template] },
): Promise<void> {
  const owners = (await listMembers(tx)).filter(({ role }) => role === 'owner')
  for (const { email } of owners) {
    const id = uuidv7()
    const sealedBody = secrets.seal(JSON.stringify(mail.data), `mail/${id}`, 'mails')
    await insertMail(tx, { id, recipient: String(email), template: mail.template, sealedBody })
  }
}
