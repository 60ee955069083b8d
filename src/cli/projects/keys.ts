import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom, secretDigestOf } from '../../rules/projects/keys.ts'
import { isServed } from '../../rules/upstreams/routing.ts'
import { loadCatalogue } from '../../store/catalogue/catalogue.ts'
import type { Db } from '../../store/database.ts'
import { insertKeyPair, listKeyPairs, setKeyPairActive } from '../../store/projects/keys.ts'
import { nameOf } from '../arguments.ts'
import { curlFor, gatewayUrlOf } from '../curl.ts'
import { CliError, unknownId } from '../failures.ts'
import { facts, table, type Output } from '../print.ts'
import { obstaclesOf, projectOf } from './projects.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

const EXAMPLE_KEY = 'ply_pk_00…'

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('key pairs, which requests are made with')
  addCommand(key, 'create', 'make a key pair and show it once', `parley key create ${EXAMPLE_ID} --name "web server"`)
    .argument('<project>')
    .option('--name <name>', 'what it is for', nameOf, 'default')
    .action(withStore(create))
  addCommand(key, 'list', "show a project's key pairs", `parley key list ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore(list))
  addCommand(key, 'deactivate', 'refuse requests with this pair (401)', `parley key deactivate ${EXAMPLE_KEY}`)
    .argument('<publishable-key>')
    .action(withStore((session, publishableKey: string) => setActive(session, publishableKey, false)))
  addCommand(key, 'activate', 'accept requests with this pair again', `parley key activate ${EXAMPLE_KEY}`)
    .argument('<publishable-key>')
    .action(withStore((session, publishableKey: string) => setActive(session, publishableKey, true)))
}

async function create({ config, db, secrets }: Session, projectId: string, options: { name: string }): Promise<Output> {
  const project = await projectOf(db, projectId)
  const pair = await addKeyPair({ db, secrets, cell: config.PARLEY_CELL }, projectId, options.name)
  const keys = { publishableKey: pair.publishable, secretKey: pair.secret }
  const model = (await servedModels(db, project.allowed_models))[0] ?? 'MODEL'
  const obstacles = obstaclesOf(project)
  const text = [
    facts({ 'publishable key': pair.publishable, 'secret key': pair.secret }),
    'Keep the secret key now: it is not stored and is never shown again.',
    `Try it, while "parley serve" runs:\n\n${curlFor({ url: gatewayUrlOf(config), ...keys, model })}`,
    ...(obstacles.length === 0 ? [] : [['Calls are refused until you have run:', ...obstacles].join('\n  ')]),
  ]
  return {
    document: {
      id: pair.id,
      project_id: projectId,
      name: options.name,
      publishable_key: pair.publishable,
      secret_key: pair.secret,
    },
    text: text.join('\n\n'),
  }
}

/** Stores a digest only: what is returned exists nowhere else. */
export async function addKeyPair(
  { db, secrets, cell }: { db: Db; secrets: Secrets; cell: string },
  projectId: string,
  name: string,
): Promise<{ id: string; publishable: string; secret: string }> {
  const id = uuidv7()
  const pair = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), cell)
  await insertKeyPair(db, {
    id,
    projectId,
    name,
    publishableKey: pair.publishable,
    secretDigest: secretDigestOf(pair.secret, secrets.keyFor('key-pair-pepper')),
    secretVersion: secrets.version,
    secretLast4: pair.secret.slice(-4),
  })
  return { id, ...pair }
}

async function servedModels(db: Db, allowed: readonly string[] | null): Promise<string[]> {
  const { models } = await loadCatalogue(db)
  return [...models.values()]
    .filter((model) => isServed(model, Date.now()) && (allowed === null || allowed.includes(model.id)))
    .map((model) => model.id)
}

async function list({ db }: Session, projectId: string): Promise<Output> {
  await projectOf(db, projectId)
  const pairs = await listKeyPairs(db, projectId)
  return {
    document: pairs,
    text: table(
      pairs.map((pair) => ({
        'publishable key': pair.publishable_key,
        secret: `…${pair.secret_last4}`,
        name: pair.name,
        active: pair.active,
        'last used': pair.last_used_at,
        created: pair.created_at,
      })),
      `This project has no key pairs yet. Make one with: parley key create ${projectId}`,
    ),
  }
}

async function setActive({ db }: Session, publishableKey: string, isActive: boolean): Promise<Output> {
  if (publishableKey.startsWith('ply_sk_')) {
    throw new CliError('That is a secret key, and it is now in your shell history. Name a pair by its publishable key.')
  }
  if (!(await setKeyPairActive(db, publishableKey, isActive))) throw unknownId('key pair', publishableKey)
  return {
    document: { publishable_key: publishableKey, active: isActive },
    text: `Key pair ${publishableKey} is ${isActive ? 'active' : 'inactive: requests with it are refused within seconds'}.`,
  }
}
