import { readFile, rename, writeFile } from 'node:fs/promises'
import { Option, type Command } from 'commander'
import { LOGIN_VARIABLES, type Config } from '../config.ts'
import { createLogins, loginNameOf, LOGINS, newPassword, urlWith, type Login, type NewLogin } from '../store/logins.ts'
import { CliError } from './failures.ts'
import type { Output } from './print.ts'
import { addCommand, withConfig } from './session.ts'

const PREFIX = /^[a-z][a-z0-9_]{0,39}$/

interface Options {
  prefix: string
  envFile?: string
  fromEnv?: boolean
}

export function addDatabaseCommands(program: Command): void {
  const database = program.command('database').description('who may do what in the database')
  addCommand(
    database,
    'logins',
    'make a login for each plane, or give those that are there new passwords',
    'parley database logins --env-file .env',
  )
    .option('--prefix <prefix>', 'what the names of the logins begin with', 'parley')
    .option('--env-file <path>', 'write the variables into this file instead of printing them')
    .addOption(
      new Option('--from-env', 'take names and passwords from the variables that are set').conflicts([
        'prefix',
        'envFile',
      ]),
    )
    .action(withConfig(run))
}

async function run(config: Config, options: Options): Promise<Output> {
  if (!PREFIX.test(options.prefix))
    throw new CliError(
      `"${options.prefix}" cannot begin a login's name. Use small letters, digits and _, such as parley2.`,
    )
  const logins = options.fromEnv ? loginsIn(config) : newLogins(options.prefix)
  const { created, changed } = await createLogins(config.DATABASE_URL, logins)
  const variables = Object.fromEntries(
    LOGINS.flatMap((login) => {
      const made = logins[login]
      return made ? [[LOGIN_VARIABLES[login], urlWith(config.DATABASE_URL, made)]] : []
    }),
  )
  const isPrinted = !options.fromEnv && options.envFile === undefined
  if (options.envFile !== undefined) await writeVariables(options.envFile, variables)
  const done = [
    ...created.map((name) => `made ${name}`),
    ...changed.map((name) => `gave ${name} ${options.fromEnv ? 'the password in its variable' : 'a new password'}`),
  ]
  return {
    document: { created, changed, ...(isPrinted && { variables }), envFile: options.envFile ?? null },
    text: [...done, '', ...(isPrinted ? linesOf(variables) : []), nextSteps(options)].join('\n'),
  }
}

function newLogins(prefix: string): Record<Login, NewLogin> {
  const entries = LOGINS.map((login) => [login, { name: loginNameOf(prefix, login), password: newPassword() }])
  return Object.fromEntries(entries) as Record<Login, NewLogin>
}

/** Those of the variables that are set: the operator has chosen names and passwords. */
function loginsIn(config: Config): Partial<Record<Login, NewLogin>> {
  const owner = URL.parse(config.DATABASE_URL)?.username
  const logins: Partial<Record<Login, NewLogin>> = {}
  for (const login of LOGINS) {
    const url = URL.parse(config[LOGIN_VARIABLES[login]] ?? '')
    if (!url) continue
    const [name, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
    if (name === '' || password === '' || name === owner)
      throw new CliError(`${LOGIN_VARIABLES[login]} needs a user of its own, and a password.`)
    logins[login] = { name, password }
  }
  if (Object.keys(logins).length === 0)
    throw new CliError(`None of the variables is set: ${Object.values(LOGIN_VARIABLES).join(', ')}.`)
  return logins
}

function linesOf(variables: Record<string, string>): string[] {
  return Object.entries(variables).map(([name, url]) => `${name}=${url}`)
}

/** Other lines of the file stay. Renamed into place, so that nobody reads half of it. */
async function writeVariables(path: string, variables: Record<string, string>): Promise<void> {
  const before = await readFile(path, 'utf8').catch((error: { code?: string }) => {
    if (error.code === 'ENOENT') return ''
    throw new CliError(`${path} cannot be read.`)
  })
  const isOurs = (line: string) => Object.keys(variables).some((name) => line.startsWith(`${name}=`))
  const kept = before.split('\n').filter((line, n, all) => !isOurs(line) && (line !== '' || n < all.length - 1))
  const draft = `${path}.${process.pid}.new`
  await writeFile(draft, [...kept, ...linesOf(variables), ''].join('\n'), { mode: 0o600, flag: 'wx' }).catch(() => {
    throw new CliError(`${path} cannot be written.`)
  })
  await rename(draft, path)
}

function nextSteps({ envFile, fromEnv }: Options): string {
  const restart = 'Restart every Parley process; "parley doctor" then says whether each plane has its own login.'
  if (fromEnv) return restart
  const where =
    envFile === undefined
      ? '\nThese lines are shown once. Put them into .env, or each into the environment of its own plane;'
      : `The variables are in ${envFile}, which only you can read. Give each plane its own;`
  return `${where}\nconsole and worker also need ${LOGIN_VARIABLES.tenant}. Then:\n${restart}`
}
