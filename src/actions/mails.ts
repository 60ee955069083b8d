import type { Secrets } from '../platform/secrets.ts'
import { uuidv7 } from '../platform/uuid.ts'
import type { MailData, MailTemplate } from '../rules/accounts/mails.ts'
import { includesRole, type MemberRole } from '../rules/accounts/roles.ts'
import { insertMail } from '../store/accounts/mails.ts'
import { listMembers } from '../store/accounts/members.ts'
import type { Db, Tx } from '../store/database.ts'

interface Mail<Template extends MailTemplate> {
  template: Template
  data: MailData[Template]
}

/** Puts a mail into the outbox, as part of the caller's transaction: it is sent if and only if that is committed. */
export async function postMail<Template extends MailTemplate>(
  db: Db,
  secrets: Secrets,
  { recipient, template, data }: Mail<Template> & { recipient: string },
): Promise<void> {
  const id = uuidv7()
  const sealedBody = secrets.seal(JSON.stringify(data), `mail/${id}`, 'mails')
  await insertMail(db, { id, recipient, template, sealedBody })
}

/** The same for each owner of the tenant's publisher. */
export async function mailOwners<Template extends MailTemplate>(
  tx: Tx,
  secrets: Secrets,
  mail: Mail<Template>,
): Promise<void> {
  await mailMembers(tx, secrets, 'owner', mail)
}

/** The same for each of its owners and admins. */
export async function mailAdmins<Template extends MailTemplate>(
  tx: Tx,
  secrets: Secrets,
  mail: Mail<Template>,
): Promise<void> {
  await mailMembers(tx, secrets, 'admin', mail)
}

async function mailMembers<Template extends MailTemplate>(
  tx: Tx,
  secrets: Secrets,
  least: MemberRole,
  mail: Mail<Template>,
): Promise<void> {
  const members = (await listMembers(tx)).filter(({ role }) => includesRole(role as MemberRole, least))
  for (const { email } of members) await postMail(tx, secrets, { ...mail, recipient: String(email) })
}
