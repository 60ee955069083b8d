import { createTransport, type Transporter } from 'nodemailer'
import { errorFields, type Log } from '../platform/log.ts'
import type { Secrets } from '../platform/secrets.ts'
import { SECOND_MS } from '../rules/durations.ts'
import { isMailTemplate, renderMail, type MailData } from '../rules/accounts/mails.ts'
import type { Db } from '../store/database.ts'
import { claimMails, giveUpMail, markMailSent, type OutgoingMail } from '../store/accounts/mails.ts'
import type { Job } from './job.ts'

/** A person waits for it. */
const SEND_EVERY_MS = SECOND_MS
const MAILS_PER_RUN = 20
/** About a day and a half of waiting; then whoever asked for it has asked again. */
const ATTEMPTS_MAX = 40
const TIMEOUT_MS = 20 * SECOND_MS

export interface MailSettings {
  /** Without it, mails wait. */
  smtpUrl: string | undefined
  from: string
}

export interface Mailer {
  sendDue(): Promise<void>
  close(): void
}

export interface MailerOptions {
  db: Db
  log: Log
  secrets: Secrets
  settings: MailSettings
}

/** Sends what is in the outbox. A mail may be sent twice, should the process end right after sending; never not at all. */
export function sendMailsJob({
  mail,
  signal,
  ...options
}: Omit<MailerOptions, 'settings'> & { mail: MailSettings; signal: AbortSignal }): Job {
  const mailer = createMailer({ ...options, settings: mail })
  signal.addEventListener('abort', () => mailer.close(), { once: true })
  return { name: 'send mails', everyMs: SEND_EVERY_MS, run: () => mailer.sendDue() }
}

export function createMailer(options: MailerOptions): Mailer {
  const { db, log, settings } = options
  const transport =
    settings.smtpUrl === undefined
      ? undefined
      : createTransport({
          url: settings.smtpUrl,
          pool: true,
          maxConnections: 2,
          connectionTimeout: TIMEOUT_MS,
          greetingTimeout: TIMEOUT_MS,
          socketTimeout: TIMEOUT_MS,
          disableFileAccess: true,
          disableUrlAccess: true,
        })
  if (!transport) log.warn('PARLEY_SMTP_URL is not set: emails wait, and no one can confirm an address')
  return {
    async sendDue() {
      if (!transport) return
      for (
        let mails = await claimMails(db, MAILS_PER_RUN);
        mails.length > 0;
        mails = await claimMails(db, MAILS_PER_RUN)
      )
        await Promise.all(mails.map((mail) => sendOne(options, transport, mail)))
    },
    close: () => transport?.close(),
  }
}

async function sendOne(
  { db, log, secrets, settings }: MailerOptions,
  transport: Pick<Transporter, 'sendMail'>,
  mail: OutgoingMail,
): Promise<void> {
  const { id, recipient, template, attempts } = mail
  try {
    if (!isMailTemplate(template)) throw new Error('there is no such mail')
    const data = JSON.parse(secrets.unseal(mail.sealed_body, `mail/${id}`, 'mails')) as MailData[typeof template]
    const rendered = renderMail(template, data)
    await transport.sendMail({ from: settings.from, to: { name: '', address: recipient }, ...rendered })
    await markMailSent(db, id)
    log.info({ mail: id, template, attempts }, 'mail sent')
  } catch (error) {
    // Its text may quote the mail, and so a link that opens an account.
    const { responseCode } = error as { responseCode?: unknown }
    const fields = { mail: id, template, attempts, ...errorFields(error), responseCode }
    const isRefused = typeof responseCode === 'number' && responseCode >= 500
    if (attempts >= ATTEMPTS_MAX || isRefused) {
      await giveUpMail(db, id)
      log.error(fields, 'mail given up')
    } else {
      log.warn(fields, 'mail not sent, will be tried again')
    }
  }
}
