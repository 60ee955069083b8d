import type { Command } from 'commander'
import { endBrowserSession, endBrowserSessionsOf } from '../../actions/projects/browser-sessions.ts'
import { ParleyError } from '../../rules/errors.ts'
import { formatCredits } from '../../rules/money.ts'
import { sessionHintOf, sessionObstacleOf } from '../../rules/projects/key-status.ts'
import {
  findProjectOfBrowserSession,
  listBrowserSessions,
  type BrowserSessionRow,
} from '../../store/projects/browser-session-pages.ts'
import type { Db } from '../../store/database.ts'
import { findKeyPair } from '../../store/projects/keys.ts'
import { rowsOf } from '../arguments.ts'
import { CliError, expectId, unknownId } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

const KEY_OPTION = ['--key <publishable-key>', 'those of this pair'] as const

export function addBrowserSessionCommands(program: Command): void {
  const session = program
    .command('sessions')
    .description('browser sessions: short-lived secrets that publishers’ pages make calls with')
  addCommand(session, 'list', 'show open sessions, newest first', `parley sessions list ${EXAMPLE_ID}`)
    .argument('<project>')
    .option(...KEY_OPTION)
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(list))
  addChange(session, 'end', 'refuse calls with a session, or with all of a pair', `parley sessions end ${EXAMPLE_ID}`)
    .argument('[session]')
    .option(...KEY_OPTION)
    .action(withStore(end))
}

async function list({ db }: Session, projectId: string, options: { key?: string; limit: number }): Promise<Output> {
  await projectOf(db, projectId)
  const keyPairId = options.key === undefined ? undefined : (await pairOf(db, options.key)).id
  const rows = await listBrowserSessions(db, projectId, { keyPairId, most: options.limit })
  return {
    document: rows.map((row) => ({ ...documentOf(row), obstacle: obstacleOf(row) })),
    text: table(
      rows.map((row) => ({
        id: row.id,
        secret: sessionHintOf(row.publishableKey, row.secretLast4),
        'key pair': row.keyName,
        'end user': row.endUserLabel ?? row.endUserId,
        calls: `${row.callsMade} of ${row.callsMax}`,
        spent: `${formatCredits(row.spent)} of ${formatCredits(row.money)}`,
        models: row.models?.join(', ') ?? 'all',
        origins: row.origins?.join(', ') ?? 'the domain',
        ends: row.expiresAt,
        state: obstacleOf(row) ?? 'usable',
      })),
      'There are no open sessions: POST /v1/sessions creates one.',
    ),
  }
}

function obstacleOf({ keyActive: active, keyExpiresAt: expires_at }: BrowserSessionRow): string | null {
  return sessionObstacleOf({ active, expires_at }, Date.now())
}

function documentOf(row: BrowserSessionRow) {
  return {
    id: row.id,
    publishable_key: row.publishableKey,
    secret_last4: row.secretLast4,
    end_user_id: row.endUserId,
    end_user_label: row.endUserLabel,
    models: row.models,
    origins: row.origins,
    max_tokens: row.maxTokens,
    calls_made: row.callsMade,
    calls_max: row.callsMax,
    money_nanos: row.money,
    spent_nanos: row.spent,
    held_nanos: row.held,
    created_at: row.createdAt,
    expires_at: row.expiresAt,
  }
}

async function end(session: Session, id: string | undefined, options: { key?: string }): Promise<Output> {
  if ((id === undefined) === (options.key === undefined))
    throw new CliError('Give the id of a session, or --key with a publishable key to end all sessions of that pair.')
  return id === undefined ? endAll(session, options.key ?? '') : endOne(session, id)
}

async function endOne({ db, actor, change }: Session, id: string): Promise<Output> {
  if (id.startsWith('ply_es_'))
    throw new CliError('That is a secret, and it is now in your shell history. Name a session by its id.')
  expectId('session', id)
  const projectId = await findProjectOfBrowserSession(db, id)
  if (projectId === undefined) throw unknownId('session', id)
  const project = projectAtHand(await projectOf(db, projectId))
  const input = { project, sessionId: id }
  await change((tx) => endBrowserSession(tx, actor, input)).catch((error: unknown) => {
    // It is there, as was just seen: only those that are over are not found then.
    const isOver = error instanceof ParleyError && error.code === 'not_found'
    throw isOver ? new CliError(`Session ${id} has already ended: calls with it are refused.`) : error
  })
  return { document: { id, ended: true }, text: `Session ${id} has ended: calls with it are refused from now on.` }
}

async function endAll({ db, actor, change }: Session, publishableKey: string): Promise<Output> {
  const pair = await pairOf(db, publishableKey)
  const project = projectAtHand(await projectOf(db, pair.projectId))
  const ended = await change((tx) => endBrowserSessionsOf(tx, actor, { project, keyId: pair.id }))
  return {
    document: { publishable_key: publishableKey, ended },
    text: `Sessions of ${publishableKey} that have ended: ${ended}. The pair itself keeps working.`,
  }
}

async function pairOf(db: Db, publishableKey: string) {
  const pair = await findKeyPair(db, publishableKey)
  if (!pair) throw unknownId('key pair', publishableKey)
  return pair
}
