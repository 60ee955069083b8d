import type { Command } from 'commander'
import { createKeyPair, setKeyPairActive } from '../../actions/projects/key-pairs.ts'
import { defaultModelOf } from '../../rules/catalogue/default-model.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import { findKeyPair, listKeyPairs } from '../../store/projects/keys.ts'
import { tenantNameOf } from '../arguments.ts'
import { curlFor, gatewayUrlOf } from '../curl.ts'
import { CliError, isId, unknownId } from '../failures.ts'
import { facts, table, type Output } from '../print.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'
import { obstaclesOf } from './projects.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

const EXAMPLE_KEY = 'ply_pk_00…'

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('key pairs, which authenticate requests')
  addChange(key, 'create', 'create a key pair and show it once', `parley key create ${EXAMPLE_ID} --name "web server"`)
    .argument('<project>')
    .option('--name <name>', 'what it is for', tenantNameOf, 'default')
    .action(withStore(create))
  addCommand(key, 'list', "show a project's key pairs", `parley key list ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore(list))
  addChange(key, 'deactivate', 'refuse requests with this pair (401)', `parley key deactivate ${EXAMPLE_KEY}`)
    .argument('<publishable-key>')
    .action(withStore((session, publishableKey: string) => setActive(session, publishableKey, false)))
  addChange(key, 'activate', 'accept requests with this pair again', `parley key activate ${EXAMPLE_KEY}`)
    .argument('<publishable-key>')
    .action(withStore((session, publishableKey: string) => setActive(session, publishableKey, true)))
}

async function create(session: Session, projectId: string, options: { name: string }): Promise<Output> {
  const { config, db, actor, change } = session
  const project = await projectOf(db, projectId)
  const secrets = await session.openSecrets()
  const installation = { secrets, cell: config.PARLEY_CELL, consoleUrl: config.PARLEY_CONSOLE_URL }
  const wanted = { project: projectAtHand(project), name: options.name, expiresInDays: null, installation }
  const { id, publishableKey, secretKey } = await change((tx) => createKeyPair(tx, actor, wanted))
  const model = defaultModelOf(await listServedModels(db), project.allowed_models)?.id ?? 'MODEL'
  const obstacles = obstaclesOf(project)
  const text = [
    facts({ 'publishable key': publishableKey, 'secret key': secretKey }),
    'Save the secret key now: it is not stored and is never shown again.',
    `Try it, while "parley serve" runs:\n\n${curlFor({ url: gatewayUrlOf(config), publishableKey, secretKey, model })}`,
    ...(obstacles.length === 0 ? [] : [['Calls are refused until you have run:', ...obstacles].join('\n  ')]),
  ]
  return {
    document: {
      id,
      project_id: projectId,
      name: options.name,
      publishable_key: publishableKey,
      secret_key: secretKey,
    },
    text: text.join('\n\n'),
  }
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
      `This project has no key pairs yet. Create one with: parley key create ${projectId}`,
    ),
  }
}

async function setActive({ db, actor, change }: Session, publishableKey: string, isActive: boolean): Promise<Output> {
  if (publishableKey.startsWith('ply_sk_')) {
    throw new CliError('That is a secret key, and it is now in your shell history. Name a pair by its publishable key.')
  }
  if (isId(publishableKey)) {
    throw new CliError(
      `${publishableKey} is an id. Name a pair by its publishable key: "parley key list PROJECT --json" has both.`,
    )
  }
  const pair = await findKeyPair(db, publishableKey)
  if (!pair) throw unknownId('key pair', publishableKey)
  const project = projectAtHand(await projectOf(db, pair.projectId))
  await change((tx) => setKeyPairActive(tx, actor, { project, keyId: pair.id, isActive }))
  return {
    document: { publishable_key: publishableKey, active: isActive },
    text: `Key pair ${publishableKey} is ${isActive ? 'active' : 'inactive: requests with it are refused within seconds'}.`,
  }
}
