import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { createLog } from '../../src/platform/log.ts'
import { createMailer } from '../../src/worker/send-mails.ts'
import { createWorld, until, type World, type WorldOptions } from './world.ts'

/** A console with everything around it: gateway, worker, and a mail server that keeps what it gets. */
export interface ConsoleWorld extends World {
  consoleUrl: string
  mails: ReceivedMail[]
  /** Sets the code with which the mail server answers from now on; undefined: it takes everything. */
  refuseMails(code: number | undefined): void
  /** Sends what is due now instead of when the worker next looks. */
  sendMails(): Promise<void>
}

export interface ReceivedMail {
  to: string
  text: string
  raw: string
}

export const ORIGIN = 'http://console.test'
export const PASSWORD = 'a long and quiet river'

export async function createConsoleWorld(options: WorldOptions = {}): Promise<ConsoleWorld> {
  const mails: ReceivedMail[] = []
  let refusal: number | undefined
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (refusal !== undefined) return done(Object.assign(new Error('not now'), { responseCode: refusal }))
        const raw = Buffer.concat(chunks).toString()
        const to = session.envelope.rcptTo.map(({ address }) => address).join()
        mails.push({ to, raw, text: unfolded(raw) })
        return done()
      })
    },
  })
  const listening = smtp.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  const mail = { smtpUrl: `smtp://127.0.0.1:${port}`, from: 'Parley <parley@example.com>' }
  const world = await createWorld({
    env: {
      PARLEY_CONSOLE_PORT: '0',
      // Nobody answers there: a test that wants a name server brings its own.
      PARLEY_DNS_SERVERS: '127.0.0.1:9',
      PARLEY_CONSOLE_URL: ORIGIN,
      // Each browser of a test writes the address that it comes from.
      PARLEY_TRUSTED_PROXIES: '127.0.0.1',
      PARLEY_SMTP_URL: mail.smtpUrl,
      PARLEY_MAIL_FROM: mail.from,
      ...options.env,
    },
    roles: options.roles ?? ['gateway', 'console', 'worker'],
    webRoot: options.webRoot,
    ...(options.publicConnections && { publicConnections: options.publicConnections }),
  })
  const { store, secrets } = world
  const mailer = createMailer({ db: store.db, log: createLog('silent'), secrets, settings: mail })
  return {
    ...world,
    consoleUrl: String(world.running.consoleUrl),
    mails,
    refuseMails: (code) => (refusal = code),
    sendMails: () => mailer.sendDue(),
    async close() {
      mailer.close()
      await world.close()
      await new Promise<void>((resolve) => smtp.close(() => resolve()))
    },
  }
}

/** Quoted-printable, as far as our own mails use it. */
function unfolded(raw: string): string {
  const bytes = raw
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

/** Waits for the newest mail to an address whose link goes to that page, and returns the token in it. */
export async function mailedToken(world: ConsoleWorld, to: string, page: string): Promise<string> {
  const pattern = new RegExp(`${page}#token=([\\w.-]+)`)
  const found = () => world.mails.findLast((mail) => mail.to === to && pattern.test(mail.text))
  if (found() === undefined) await world.sendMails()
  await until(() => found() !== undefined, 15_000)
  return pattern.exec(found()?.text ?? '')?.[1] ?? ''
}

export interface Answer {
  status: number
  // Tests look into answers of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
  text: string
  headers: Headers
}

/** A browser, as far as the API is concerned: it keeps cookies and says where it is. */
export interface Browser {
  cookies: Map<string, string>
  send(key: string, options?: SendOptions): Promise<Answer>
}

export interface SendOptions {
  body?: unknown
  headers?: Record<string, string>
}

let addresses = 0

/** Each browser has an address of its own, so that throttles of one test do not reach the next. */
export function openBrowser(
  world: Pick<ConsoleWorld, 'consoleUrl'>,
  ip = `10.9.${(addresses += 1) >> 8}.${addresses & 255}`,
): Browser {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async send(key, { body, headers = {} } = {}) {
      const [method = 'GET', path = ''] = key.split(' ')
      const response = await fetch(`${world.consoleUrl}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          'x-forwarded-for': ip,
          ...(method !== 'GET' && { origin: ORIGIN }),
          ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
          ...(body !== undefined && { 'content-type': typeOf(body) }),
          ...headers,
        },
        body: body === undefined ? undefined : bytesOf(body),
      })
      for (const cookie of response.headers.getSetCookie()) keep(cookies, cookie)
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.startsWith('application/json')
      return { status: response.status, text, headers: response.headers, body: isJson ? JSON.parse(text) : undefined }
    },
  }
}

function typeOf(body: unknown): string {
  return body instanceof Blob ? 'application/octet-stream' : 'application/json'
}

function bytesOf(body: unknown): string | Blob {
  return typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body)
}

function keep(cookies: Map<string, string>, cookie: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
  if (value === '' || /max-age=0/i.test(cookie)) cookies.delete(name)
  else cookies.set(name, value)
}

let people = 0

export interface Person extends Browser {
  email: string
  name: string
  publisherId: string
}

/** Signs up and confirms, which signs in; or, if told not to confirm, signs in without. */
export async function newPerson(
  world: ConsoleWorld,
  options: { confirms?: boolean; email?: string; name?: string } = {},
): Promise<Person> {
  const browser = openBrowser(world)
  const email = options.email ?? `person${(people += 1)}@example.com`
  const name = options.name ?? `Person ${people}`
  await must(browser.send('POST /api/auth/sign-up/email', { body: { name, email, password: PASSWORD } }))
  if (options.confirms ?? true) {
    const token = await mailedToken(world, email, 'activate')
    await must(browser.send('POST /api/auth/verify-email', { body: { token, password: PASSWORD } }))
  } else {
    await must(browser.send('POST /api/auth/sign-in/email', { body: { email, password: PASSWORD } }))
  }
  const { body } = await must(browser.send('GET /api/me'))
  return { ...browser, email, name, publisherId: body.publishers[0].id }
}

export function signIn(browser: Browser, email: string, password = PASSWORD): Promise<Answer> {
  return browser.send('POST /api/auth/sign-in/email', { body: { email, password } })
}

export async function userIdOf(person: Person): Promise<string> {
  return (await must(person.send('GET /api/me'))).body.user.id
}

/** `POST /invitations` of the owner's publisher. */
export function ofPublisher(owner: Person, rest: string): string {
  return rest.replace(' /', ` /api/publishers/${owner.publisherId}/`)
}

export async function must(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer
  if (got.status !== 200) throw new Error(`answered ${got.status}: ${got.text}`)
  return got
}

export async function newProject(person: Person, name = 'Site', domain = 'news.example.com'): Promise<string> {
  const path = `POST /api/publishers/${person.publisherId}/projects`
  const { body } = await must(person.send(path, { body: { name, domain } }))
  return body.id
}
