import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** A mail server for development: it delivers nothing and says who would have got which link. */
export interface Mailbox {
  url: string
  close(): Promise<void>
}

export async function openMailbox(say: (line: string) => void): Promise<Mailbox> {
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const mail = unquoted(Buffer.concat(chunks).toString())
        const subject = /^Subject: (.*)$/m.exec(mail)?.[1]?.trim() ?? ''
        const link = /^https?:\/\/\S+$/m.exec(mail)?.[0] ?? ''
        const to = session.envelope.rcptTo.map(({ address }) => address).join(', ')
        say(`mail to ${to}: ${subject}\n  ${link}`)
        done()
      })
    },
  })
  // A client that hangs up is no reason to end.
  smtp.on('error', () => undefined)
  const server = smtp.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  }
}

/** Quoted-printable, as mails are written. */
function unquoted(text: string): string {
  return text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll('\r\n', '\n')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
