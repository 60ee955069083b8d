import { Argument, type Command } from 'commander'
import { readConfig, type Config, type LoginOf } from '../../config.ts'
import { createLog, errorFields, framesOf, type Log } from '../../platform/log.ts'
import { sentenceOf, codeOf } from '../failures.ts'

/** The servers, which this plane does not know: main.ts hands them in. */
export interface Serving<Role extends LoginOf> {
  roles: readonly Role[]
  /** When none is named. */
  usualRoles: readonly Role[]
  serve(config: Config, roles: readonly Role[], log: Log): Promise<{ stop(): Promise<void> }>
}

/** Beyond the configured delay and grace: what ends a drain that hangs. */
const HARD_EXIT_AFTER_MS = 15_000
const CRASH_DRAIN_MS = 10_000
/** Ctrl-C under npm arrives twice: from the terminal, and once more from npm. That is not an operator who insists. */
const ECHO_MS = 250

const HELP = `
Roles:
  gateway  answers requests: /v1
  worker   does the background work: mails, usage, domains, audit
  console  serves the publishers' web app, its API, and what Stripe tells of payments
  matcher  finds what to recommend, for the gateways of its host; in a process of its own

Example:
  parley serve gateway worker console
  parley serve matcher`

export function addServeCommand<Role extends LoginOf>(program: Command, serving: Serving<Role>): void {
  program
    .command('serve')
    .description("answer requests (gateway), do the background work (worker), serve the publishers' web app (console)")
    .addArgument(
      new Argument('[roles...]', 'what this process does (default: gateway, worker and console)').choices(
        serving.roles,
      ),
    )
    .showHelpAfterError('Run "parley serve --help" for usage.')
    .addHelpText('after', HELP)
    .action((roles: Role[]) => serveUntilSignal(serving, roles.length > 0 ? [...new Set(roles)] : serving.usualRoles))
}

async function serveUntilSignal<Role extends LoginOf>(serving: Serving<Role>, roles: readonly Role[]): Promise<void> {
  const config = readConfig(undefined, roles)
  const log = createLog(config.PARLEY_LOG_LEVEL)
  let running: { stop(): Promise<void> } | undefined
  let endingSinceMs: number | undefined

  async function end(exitCode: number, withinMs: number): Promise<void> {
    endingSinceMs = performance.now()
    setTimeout(() => {
      log.error({ withinMs }, 'did not end in time')
      process.exit(1)
    }, withinMs)
    try {
      await running?.stop()
      process.exit(exitCode)
    } catch (error) {
      log.error(errorFields(error), 'did not end in order')
      process.exit(1)
    }
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (endingSinceMs === undefined) {
      void end(0, config.PARLEY_DRAIN_DELAY_MS + config.PARLEY_DRAIN_GRACE_MS + HARD_EXIT_AFTER_MS)
    } else if (signal !== 'SIGINT' || performance.now() - endingSinceMs > ECHO_MS) {
      process.exit(1)
    }
  }

  function onCrash(error: unknown): void {
    log.fatal({ ...errorFields(error), frames: framesOf(error) }, 'crashed')
    if (endingSinceMs === undefined) void end(1, CRASH_DRAIN_MS)
  }

  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  process.on('uncaughtException', onCrash).on('unhandledRejection', onCrash)
  try {
    running = await serving.serve(config, roles, log)
  } catch (error) {
    console.error(startProblemOf(error, config))
    // Part of it may be listening already, and would keep a process that serves nothing alive.
    process.exit(1)
  }
}

function variableOf(port: number | undefined, config: Config): string {
  if (port === config.PARLEY_OPS_PORT) return 'PARLEY_OPS_PORT'
  if (port === config.PARLEY_MATCHER_PORT) return 'PARLEY_MATCHER_PORT'
  return port === config.PARLEY_CONSOLE_PORT ? 'PARLEY_CONSOLE_PORT' : 'PARLEY_PORT'
}

function startProblemOf(error: unknown, config: Config): string {
  const { address, port } = error as { address?: string; port?: number }
  if (codeOf(error) === 'EADDRINUSE') {
    return `Port ${port} of ${address} is in use by another process. Stop it, or set ${variableOf(port, config)}.`
  }
  if (['EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND'].includes(codeOf(error) ?? '') && port !== undefined) {
    return `This process is not allowed to listen on port ${port} of ${address}. Correct ${variableOf(port, config)}, or the host.`
  }
  return sentenceOf(error, config.DATABASE_URL)
}
