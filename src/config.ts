import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { RootSecret } from './platform/secrets.ts'
import { isAddressOrNetwork, isEveryAddress } from './rules/accounts/addresses.ts'
import { HOUR_MS, MINUTE_MS } from './rules/durations.ts'
import {
  CLIENT_REQUEST_TIMEOUT_MS,
  INTAKE_LIMITS,
  LEASE_MS,
  MESSAGES_BYTES_PER_DAY,
  type IntakeLimits,
} from './rules/limits.ts'
import { parseCredits } from './rules/money.ts'
import { domainNameOf } from './rules/projects/domains.ts'
import { KEPT_DAYS } from './rules/retention.ts'
import { SANDBOX_DOMAIN_CHARACTERS_MAX } from './rules/sandbox.ts'

/**
 * The only reader of the environment. Every problem is listed at once, with what to do about it. A variable NAME can
 * also be given as NAME_FILE, the path of a file that holds its value, so that secrets need not be in the environment.
 */

const SECRET_BYTES_MIN = 32

/** Zod's own words are for programmers. */
function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  const digits = z.string(error).regex(/^\d+$/, error)
  return digits.transform(Number).pipe(z.number().min(min, error).max(max, error))
}

const port = wholeNumber(0, 65_535)
const yesOrNo = z.stringbool({ error: 'must be true or false' })
const webAddress = z.url({
  protocol: /^https?$/,
  error: 'must be a web address, for example https://parley.example.com',
})
/** Scheme, host and port: what a browser calls the origin. */
const origin = webAddress.transform((text, context) => {
  const url = new URL(text)
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '')
    context.addIssue('must be an address without a path, for example https://console.example.com')
  return url.origin
})
const milliseconds = wholeNumber(0, HOUR_MS)
const percent = wholeNumber(1, 100)
const MIB = 1024 * 1024

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

const databaseUrl = z
  .string('is required, for example postgres://parley:…@db.internal:5432/parley')
  .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')

const schema = z.object({
  DATABASE_URL: databaseUrl,
  PARLEY_GATEWAY_DATABASE_URL: databaseUrl.optional(),
  PARLEY_CONSOLE_DATABASE_URL: databaseUrl.optional(),
  PARLEY_WORKER_DATABASE_URL: databaseUrl.optional(),
  PARLEY_MATCHER_DATABASE_URL: databaseUrl.optional(),
  PARLEY_TENANT_DATABASE_URL: databaseUrl.optional(),
  PARLEY_SECRET: z.string('is required. Make one with: openssl rand -base64 32').transform(rootSecretsOf),
  PARLEY_CELL: z
    .string()
    .regex(/^[0-9a-z]{2}$/, 'must be two characters of 0-9 a-z')
    .default('00'),
  PARLEY_HOST: z.string().default('127.0.0.1'),
  PARLEY_PORT: port.default(8080),
  PARLEY_CONSOLE_HOST: z.string().default('127.0.0.1'),
  PARLEY_CONSOLE_PORT: port.default(8081),
  PARLEY_CONSOLE_URL: origin.default('http://127.0.0.1:8081'),
  PARLEY_PUBLIC_URL: origin.default('http://127.0.0.1:8080'),
  PARLEY_GATEWAY_INTERNAL_URL: origin.optional(),
  PARLEY_MATCHER_HOST: z.string().default('127.0.0.1'),
  PARLEY_MATCHER_PORT: port.default(8082),
  PARLEY_MATCHER_DIR: z.string().default('./.parley/matcher'),
  PARLEY_ENCODER_DIR: z.string().optional(),
  PARLEY_MATCHER_URL: origin.default('http://127.0.0.1:8082'),
  PARLEY_TRUSTED_PROXIES: z.string().default('').transform(networksOf),
  PARLEY_DATA_CENTRE_NETWORKS: z.string().optional(),
  PARLEY_SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must begin with smtp:// or smtps://, for example smtps://user:password@mail.example.com')
    .optional(),
  PARLEY_MAIL_FROM: z
    .string()
    .regex(/^.{3,320}$/s, 'must have 3 to 320 characters')
    .default('Parley <parley@localhost>'),
  PARLEY_REQUIRE_APPROVAL: yesOrNo.default(false),
  PARLEY_TRIAL_CREDIT: z.string().default('0').transform(creditsOf),
  PARLEY_SANDBOX_DOMAIN: z.string().transform(sandboxDomainOf).optional(),
  PARLEY_PUBLIC_FIGURES: yesOrNo.default(false),
  PARLEY_STATUS_PAGE: yesOrNo.default(false),
  PARLEY_STATUS_PROVIDERS: yesOrNo.default(false),
  PARLEY_DNS_SERVERS: z
    .string()
    .transform((text) => text.split(',').map((server) => server.trim()))
    .optional(),
  PARLEY_OPS_HOST: z.string().default('127.0.0.1'),
  PARLEY_OPS_PORT: port.default(9090),
  PARLEY_STRIPE_SECRET_KEY: z
    .string()
    .regex(/^[sr]k_(test|live)_\S+$/, 'must be a secret or restricted key of Stripe: sk_live_…, rk_live_…')
    .optional(),
  PARLEY_STRIPE_WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_\S{16,}$/, "must be the signing secret of Stripe's endpoint, which begins with whsec_")
    .optional(),
  PARLEY_STRIPE_API_BASE: webAddress.optional(),
  PARLEY_STRIPE_TAX: yesOrNo.default(false),
  PARLEY_CHECKOUT_SUCCESS_URL: webAddress.optional(),
  PARLEY_CHECKOUT_CANCEL_URL: webAddress.optional(),
  PARLEY_LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  PARLEY_CALLS_MAX: wholeNumber(1, 1_000_000).default(10_000),
  PARLEY_PROJECT_CALLS_PERCENT: percent.default(INTAKE_LIMITS.projectCallsPercent),
  PARLEY_KEY_PAIR_CALLS_PERCENT: percent.default(INTAKE_LIMITS.keyPairCallsPercent),
  PARLEY_ADDRESS_REQUESTS_PER_SECOND: wholeNumber(1, 1_000_000).default(INTAKE_LIMITS.addressRequestsPerSecond),
  PARLEY_KEY_PAIR_REQUESTS_PER_SECOND: wholeNumber(1, 1_000_000).default(INTAKE_LIMITS.keyPairRequestsPerSecond),
  PARLEY_SESSION_REQUESTS_PER_SECOND: wholeNumber(1, 1_000_000).default(INTAKE_LIMITS.sessionRequestsPerSecond),
  PARLEY_SESSION_CALLS_AT_ONCE: wholeNumber(1, 1_000_000).default(INTAKE_LIMITS.sessionCallsAtOnce),
  PARLEY_ACCOUNT_WORK_PERCENT: percent.default(INTAKE_LIMITS.accountWorkPercent),
  PARLEY_BODIES_MIB_MAX: wholeNumber(32, 65_536).default(INTAKE_LIMITS.bodiesBytesMax / MIB),
  PARLEY_KEY_PAIR_BODIES_PERCENT: percent.default(INTAKE_LIMITS.keyPairBodiesPercent),
  PARLEY_UPLOAD_SILENCE_MS: wholeNumber(100, CLIENT_REQUEST_TIMEOUT_MS).default(INTAKE_LIMITS.uploadSilenceMs),
  PARLEY_UPLOAD_BYTES_PER_SECOND: wholeNumber(0, 1_000_000_000).default(INTAKE_LIMITS.uploadBytesPerSecond),
  PARLEY_AUTO_MIGRATE: yesOrNo.default(true),
  PARLEY_DRAIN_DELAY_MS: milliseconds.default(2_000),
  PARLEY_DRAIN_GRACE_MS: milliseconds.default(MINUTE_MS),
  PARLEY_LEASE_MS: wholeNumber(3_000, HOUR_MS).default(LEASE_MS),
  PARLEY_MESSAGES_MIB_PER_DAY: wholeNumber(1, 1_048_576).default(MESSAGES_BYTES_PER_DAY / MIB),
  PARLEY_CONVERSATIONS_KEPT_DAYS: wholeNumber(1, 3_650).default(KEPT_DAYS.conversations),
  PARLEY_MAILS_KEPT_DAYS: wholeNumber(1, 3_650).default(KEPT_DAYS.mails),
})

export type Config = z.output<typeof schema>

/** Every variable that Parley reads, for checking that .env.example explains each. */
export const VARIABLES = Object.keys(schema.shape)

export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The configuration is not complete:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** The variable that holds the login of each plane, and of the tenants that console and worker act for. */
export const LOGIN_VARIABLES = {
  gateway: 'PARLEY_GATEWAY_DATABASE_URL',
  console: 'PARLEY_CONSOLE_DATABASE_URL',
  worker: 'PARLEY_WORKER_DATABASE_URL',
  matcher: 'PARLEY_MATCHER_DATABASE_URL',
  tenant: 'PARLEY_TENANT_DATABASE_URL',
} as const
export type LoginOf = keyof typeof LOGIN_VARIABLES

/** `planes`: what a process serves that may do without the owner's login, if each has its own. */
export function readConfig(env: NodeJS.ProcessEnv = process.env, planes: readonly LoginOf[] = []): Config {
  const { values, problems } = readValues(VARIABLES, env)
  const needed = loginsFor(planes).map((login) => LOGIN_VARIABLES[login])
  const given = needed.find((name) => values[name] !== undefined)
  if (values.DATABASE_URL === undefined && given !== undefined) {
    const missing = needed.filter((name) => values[name] === undefined)
    problems.push(...missing.map((name) => `${name} is required beside ${given}, as there is no DATABASE_URL`))
    // Without the owner's login there is no migrating. The address only tells which server does not answer.
    values.DATABASE_URL = values[given]
    values.PARLEY_AUTO_MIGRATE = 'false'
  }
  const result = schema.safeParse(values)
  if (!result.success) problems.push(...result.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`))
  if (!result.success || problems.length > 0) throw new ConfigError(problems)
  return result.data
}

function readValues(names: readonly string[], env: NodeJS.ProcessEnv) {
  const problems: string[] = []
  const values: Record<string, string | undefined> = {}
  for (const name of names) {
    try {
      const file = env[`${name}_FILE`]
      values[name] = file ? readFileSync(file, 'utf8').trim() : env[name] || undefined
    } catch {
      problems.push(`${name}_FILE names a file that cannot be read`)
    }
  }
  return { values, problems }
}

/** For a command that needs nothing else: an image is built where there is neither a database nor a secret. */
export function readEncoderDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const directories = schema.pick({ PARLEY_ENCODER_DIR: true, PARLEY_MATCHER_DIR: true })
  const { values, problems } = readValues(Object.keys(directories.shape), env)
  if (problems.length > 0) throw new ConfigError(problems)
  return encoderDirectoryOf(directories.parse(values))
}

export function encoderDirectoryOf(config: Pick<Config, 'PARLEY_ENCODER_DIR' | 'PARLEY_MATCHER_DIR'>): string {
  return config.PARLEY_ENCODER_DIR ?? config.PARLEY_MATCHER_DIR
}

/** The logins that these planes use. */
export function loginsFor(planes: readonly LoginOf[]): LoginOf[] {
  const actsForTenants = planes.includes('console') || planes.includes('worker')
  return actsForTenants ? [...planes, 'tenant'] : [...planes]
}

/** One caller's shares of a gateway. */
export function gatewayLimitsOf(config: Config): { intakeLimits: IntakeLimits; messagesBytesPerDay: number } {
  return {
    intakeLimits: {
      addressRequestsPerSecond: config.PARLEY_ADDRESS_REQUESTS_PER_SECOND,
      keyPairRequestsPerSecond: config.PARLEY_KEY_PAIR_REQUESTS_PER_SECOND,
      sessionRequestsPerSecond: config.PARLEY_SESSION_REQUESTS_PER_SECOND,
      sessionCallsAtOnce: config.PARLEY_SESSION_CALLS_AT_ONCE,
      projectCallsPercent: config.PARLEY_PROJECT_CALLS_PERCENT,
      keyPairCallsPercent: config.PARLEY_KEY_PAIR_CALLS_PERCENT,
      accountWorkPercent: config.PARLEY_ACCOUNT_WORK_PERCENT,
      bodiesBytesMax: config.PARLEY_BODIES_MIB_MAX * MIB,
      keyPairBodiesPercent: config.PARLEY_KEY_PAIR_BODIES_PERCENT,
      uploadSilenceMs: config.PARLEY_UPLOAD_SILENCE_MS,
      uploadBytesPerSecond: config.PARLEY_UPLOAD_BYTES_PER_SECOND,
    },
    messagesBytesPerDay: config.PARLEY_MESSAGES_MIB_PER_DAY * MIB,
  }
}

export function databaseUrlOf(config: Config, login: LoginOf): string {
  return config[LOGIN_VARIABLES[login]] ?? config.DATABASE_URL
}

/** A variable that the operator names on the command line, for what must not be written there itself. */
export function readVariable(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env[name] || undefined
}

function networksOf(text: string, context: z.RefinementCtx): string[] {
  if (text === '') return []
  const networks = text.split(',').map((entry) => entry.trim())
  for (const network of networks.filter((entry) => !isAddressOrNetwork(entry)))
    context.addIssue(
      isEveryAddress(network)
        ? `must name your proxies: with ${network} the console would believe everyone`
        : `must be addresses or networks, such as 10.0.0.5,10.8.0.0/16, and "${network}" is neither`,
    )
  return networks
}

function sandboxDomainOf(text: string, context: z.RefinementCtx): string {
  const name = domainNameOf(text)
  if (name !== undefined && name.length <= SANDBOX_DOMAIN_CHARACTERS_MAX) return name
  context.addIssue('must be a domain of yours, below which sandboxes have their names, for example sandbox.example.com')
  return z.NEVER
}

function creditsOf(text: string, context: z.RefinementCtx): bigint {
  try {
    return parseCredits(text)
  } catch {
    context.addIssue('must be an amount in dollars, for example 5 or 0.50')
    return z.NEVER
  }
}

/** `BASE64`, or `2:BASE64,1:BASE64` while an old secret is being replaced: the first one is used for everything new. */
function rootSecretsOf(text: string, context: z.RefinementCtx): RootSecret[] {
  const roots = text.split(',').map((entry) => {
    const match = /^(?:(\d{1,4}):)?([A-Za-z0-9+/_-]+={0,2})$/.exec(entry.trim())
    return { version: Number(match?.[1] ?? 1), bytes: Buffer.from(match?.[2] ?? '', 'base64') }
  })
  if (roots.some(({ bytes }) => bytes.length < SECRET_BYTES_MIN || new Set(bytes).size < SECRET_BYTES_MIN / 4)) {
    context.addIssue('must be at least 32 random bytes in base64. Make one with: openssl rand -base64 32')
  }
  if (new Set(roots.map((root) => root.version)).size !== roots.length)
    context.addIssue('must give each secret another number')
  return roots
}
