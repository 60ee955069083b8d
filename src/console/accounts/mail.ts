import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import type { MailData, MailTemplate } from '../../rules/accounts/mails.ts'
import type { Db } from '../../store/database.ts'
import { insertMail } from '../../store/accounts/mails.ts'

/** Puts a mail into the outbox, as part of the caller's transaction: it is sent if and only if that is committed. */
export async function postMail<Template extends MailTemplate>(
  db: Db,
  secrets: Secrets,
  mail: { recipient: string; template: Template; data: MailData[Template] },
): Promise<void> {
  const id = uuidv7()
  const { recipient, template } = mail
  const sealedBody = secrets.seal(JSON.stringify(mail.data), `mail/${id}`, 'mails')
  await insertMail(db, { id, recipient, template, sealedBody })
}
