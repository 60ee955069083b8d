import type { Command } from 'commander'
import { userInfo } from 'node:os'
import type { Operator } from '../actions/actor.ts'
import { readConfig, readVariable, type Config } from '../config.ts'
import { createSecrets, type Secrets } from '../platform/secrets.ts'
import { visibleText } from '../rules/visible-text.ts'
import { openStore, type Db, type Store, type StoreOptions, type Tx } from '../store/database.ts'
import { recordSecrets } from '../store/secret-versions.ts'
import { reasonOf } from './arguments.ts'
import { CliError, sentenceOf } from './failures.ts'
import { jsonOf, type Output } from './print.ts'

/** Everything that a command works with. */
export interface Session {
  config: Config
  db: Db
  /** Compared with those that the installation works with: a command must not seal anything under a wrong one. */
  openSecrets(): Promise<Secrets>
  /** The person who runs the command, and their reason. */
  actor: Operator
  /** One transaction for what a command changes and for what the audit log says of it. */
  change<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

/** A sample id, for the examples. */
export const EXAMPLE_ID = '0199d3c4-7a10-7c3e-9a53-1f2e3d4c5b6a'

/** A leaf of the command tree: everything but `serve` can answer in JSON, and each shows how it is used. */
export function addCommand(parent: Command, usage: string, summary: string, example: string): Command {
  const command = parent
    .command(usage)
    .description(summary)
    .option('--json', 'print exactly one JSON document')
    .addHelpText('after', `\nExample:\n  ${example}`)
  return command.showHelpAfterError(`Run "${pathOf(command)} --help" for usage.`)
}

/** One that changes something: who did it is in the audit log, and why, if they say so. */
export function addChange(parent: Command, usage: string, summary: string, example: string): Command {
  return addCommand(parent, usage, summary, example).option('--reason <text>', 'why, for the audit log', reasonOf)
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}

/** Nobody waits for an answer behind a command, so it gives a busy database longer than a gateway would. */
const CONNECT_WAIT_MS = 10_000

/** As many connections as a command can use at a time. */
export function openCommandStore(options: StoreOptions): Store {
  return openStore({ poolMax: 2, poolWaitMs: CONNECT_WAIT_MS, ...options })
}

type Action<Args extends unknown[]> = (...args: [...Args, Command]) => Promise<void>

/** Runs a command that needs the store: opens it, prints what the command returns, and closes it again. */
export function withStore<Args extends unknown[]>(
  work: (session: Session, ...args: Args) => Promise<Output>,
  options: { statementTimeoutMs?: number } = {},
): Action<Args> {
  return withConfig(async (config, ...args: Args) => {
    const store = openCommandStore({ url: config.DATABASE_URL, applicationName: 'parley command', ...options })
    const { db } = store
    try {
      const session: Session = {
        config,
        db,
        async openSecrets() {
          const secrets = createSecrets(config.PARLEY_SECRET)
          await recordSecrets(db, secrets)
          return secrets
        },
        actor: operatorWith(args),
        change: (change) => db.transaction().execute(change),
      }
      return await work(session, ...args)
    } finally {
      await store.close()
    }
  })
}

/** Commander passes a command's options after its arguments. */
function operatorWith(args: readonly unknown[]): Operator {
  const { reason } = (args.at(-1) ?? {}) as { reason?: string }
  return { kind: 'operator', id: systemUser(), reason }
}

/** Under sudo, SUDO_USER names the person; anybody else could have written it. In a container the user may have no name. */
function systemUser(): string {
  const before = readVariable('SUDO_USER')
  if (before && process.getuid?.() === 0) return `${before.slice(0, 100)} (root by sudo)`
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

export function withConfig<Args extends unknown[]>(
  work: (config: Config, ...args: Args) => Promise<Output>,
): Action<Args> {
  return async (...all) => {
    const command = all.at(-1) as Command
    const config = readConfig()
    try {
      print(await work(config, ...(all.slice(0, -1) as Args)), command)
    } catch (error) {
      throw new CliError(sentenceOf(error, config.DATABASE_URL))
    }
  }
}

export function print(output: Output, command: Command): void {
  const { json } = command.opts<{ json?: boolean }>()
  console.log(json ? jsonOf(output.document) : visibleText(output.text))
  if (output.exitCode !== undefined) process.exitCode = output.exitCode
}
