import { Option, type Command } from 'commander'
import { LOGIN_VARIABLES, type Config } from '../../config.ts'
import {
  createLogins,
  loginNameOf,
  LOGINS,
  LoginsExist,
  LoginsUncertain,
  newPassword,
  urlWith,
  type Login,
  type LoginsReport,
  type NewLogin,
} from '../../store/database-logins.ts'
import { addRolesCommand } from './database-roles.ts'
import { draftEnvFile, linesOf, type EnvDraft } from './env-file.ts'
import { CliError, sentenceOf } from '../failures.ts'
import type { Output } from '../print.ts'
import { addCommand, withConfig } from '../session.ts'

const PREFIX = /^[a-z][a-z0-9_]{0,39}$/

interface Options {
  prefix: string
  envFile?: string
  newPasswords?: boolean
  fromEnv?: boolean
}

export function addDatabaseCommands(program: Command): void {
  const database = program.command('database').description('the logins and roles of the database')
  addRolesCommand(database)
  addCommand(
    database,
    'logins',
    'create a login for each plane, with only the rights it needs',
    'parley database logins --env-file .env',
  )
    .option('--prefix <prefix>', 'prefix of the login names', 'parley')
    .option('--env-file <path>', 'write the variables into this file instead of printing them')
    .option('--new-passwords', 'give existing logins new passwords: every process needs them immediately')
    .addOption(
      new Option('--from-env', 'take names and passwords from the variables that are set').conflicts([
        'prefix',
        'envFile',
        'newPasswords',
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
  const variables = Object.fromEntries(
    LOGINS.flatMap((login) => {
      const made = logins[login]
      return made ? [[LOGIN_VARIABLES[login], urlWith(config.DATABASE_URL, made)]] : []
    }),
  )
  const isPrinted = !options.fromEnv && options.envFile === undefined
  // Before any password changes: once it has, nobody else knows it.
  const draft = options.envFile === undefined ? undefined : await draftEnvFile(options.envFile, variables)
  const { created, changed } = await change(config, logins, options, draft)
  await draft?.keep().catch(() => {
    throw new CliError(`The logins were created, but ${options.envFile} cannot be replaced: see ${draft.path}.`)
  })
  const done = [
    ...created.map((name) => `made ${name}`),
    ...changed.map((name) => `gave ${name} ${options.fromEnv ? 'the password in its variable' : 'a new password'}`),
  ]
  return {
    document: { created, changed, ...(isPrinted && { variables }), envFile: options.envFile ?? null },
    text: [...done, '', ...(isPrinted ? linesOf(variables) : []), nextSteps(options)].join('\n'),
  }
}

async function change(
  config: Config,
  logins: Partial<Record<Login, NewLogin>>,
  options: Options,
  draft: EnvDraft | undefined,
): Promise<LoginsReport> {
  try {
    return await createLogins(config.DATABASE_URL, logins, { onlyNew: !options.fromEnv && !options.newPasswords })
  } catch (error) {
    if (error instanceof LoginsUncertain) {
      const where = draft ? `The new passwords, if they apply, are in ${draft.path}. ` : ''
      throw new CliError(
        `The connection to the database was lost, so the passwords may or may not have changed. ${where}Run it again with --new-passwords.`,
      )
    }
    await draft?.discard()
    if (error instanceof LoginsExist) throw new CliError(existingLoginsSentence(error, options.prefix))
    throw new CliError(`${sentenceOf(error, config.DATABASE_URL)} No password was changed.`)
  }
}

function existingLoginsSentence({ names, connections, databases }: LoginsExist, prefix: string): string {
  const used = connections === 1 ? '1 connection' : `${connections === 0 ? 'no' : connections} connections`
  const where = databases.length === 0 ? '' : `, database ${databases.join(', ')}`
  return [
    `${names.join(', ')} already ${names.length === 1 ? 'exists' : 'exist'} and may be in use (${used}${where}).`,
    `--prefix ${nextOf(prefix)} makes a second set without a gap;`,
    '--new-passwords gives these new passwords, which every process then needs immediately.',
  ].join(' ')
}

/** parley: parley2, parley2: parley3. */
function nextOf(prefix: string): string {
  return prefix.replace(/\d{0,3}$/, (number) => String(Number(number || 1) + 1))
}

function newLogins(prefix: string): Record<Login, NewLogin> {
  const entries = LOGINS.map((login) => [login, { name: loginNameOf(prefix, login), password: newPassword() }])
  return Object.fromEntries(entries) as Record<Login, NewLogin>
}

/** Returns the logins whose variables are set: the operator has chosen their names and passwords. */
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

function nextSteps({ envFile, fromEnv }: Options): string {
  const restart = 'Restart every Parley process; "parley doctor" then says whether each plane has its own login.'
  if (fromEnv) return restart
  const where =
    envFile === undefined
      ? '\nThese lines are shown once. Put them into .env, or each into the environment of its own plane;'
      : `The variables are in ${envFile}, which only you can read. Give each plane its own;`
  const file = envFile ?? '.env'
  const path = file.includes('/') ? file : `./${file}`
  return [
    where,
    `console and worker also need ${LOGIN_VARIABLES.tenant}. Parley itself reads no such file: docker compose reads .env,`,
    `a shell does with "set -a; . ${path}; set +a", systemd with EnvironmentFile=. Then:`,
    restart,
  ].join('\n')
}
