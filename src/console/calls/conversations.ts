import type { FastifyInstance } from 'fastify'
import { Readable } from 'node:stream'
import { deleteConversation } from '../../actions/calls/conversations.ts'
import { notThere, wrongFields } from '../../actions/refusals.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { endpointOf } from '../../rules/endpoints.ts'
import { findEndpoints } from '../../store/calls/calls.ts'
import { markdownOf, readableOf, textStateOf, titleOf } from '../../rules/calls/transcripts.ts'
import {
  findConversation,
  listCallsOfMessages,
  listLatestConversations,
  listMessagesAfter,
  MESSAGES_COUNTED,
  type CallOfMessage,
  type ConversationPlace,
  type ConversationRow,
  type MessageRow,
} from '../../store/calls/conversation-pages.ts'
import type { Db } from '../../store/database.ts'
import { findProject } from '../../store/projects/projects.ts'
import { carriedOf, findCarried, type Carried } from '../recommendation-views.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const EXPORTED_PER_READ = 200
const EXPORTED_MAX = 100_000

export function conversationRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/conversations', async ({ db, project, query }) => {
    const options = { search: query.id || undefined, after: placeOf(query.after), most: query.limit + 1 }
    const rows = await listLatestConversations(db, project.id, options)
    const shown = rows.slice(0, query.limit)
    const last = shown.at(-1)
    const hasMore = rows.length > query.limit && options.search === undefined
    return { items: shown.map(viewOf), next: hasMore && last ? `${last.lastCallUs}.${last.id}` : null }
  })

  route(app, world, 'GET /api/projects/:project/conversations/:conversation', async ({ db, project, params }) => {
    const row = await conversationOf(db, project.id, params.conversation)
    const contentRetentionDays = (await findProject(db, project.id))?.content_retention_days ?? 0
    return { ...viewOf(row), contentRetentionDays }
  })

  route(app, world, 'GET /api/projects/:project/conversations/:conversation/messages', async (call) => {
    const { db, project, params, query } = call
    await conversationOf(db, project.id, params.conversation)
    const key = { projectId: project.id, id: params.conversation }
    const rows = await listMessagesAfter(db, key, seqOf(query.after), query.limit + 1)
    const shown = rows.slice(0, query.limit)
    const calls = await listCallsOfMessages(db, project.id, [...new Set(shown.map(({ callId }) => callId))])
    const next = rows.length > query.limit ? String(shown.at(-1)?.seq) : null
    const replies = repliesIn(rows)
    const carried = await findCarried(db, project.id, [...replies.keys()])
    const under = (row: MessageRow) => (replies.get(row.callId) === row ? carried.get(row.callId) : undefined)
    return { items: shown.map((row) => messageOf(row, calls.get(row.callId), under(row))), next }
  })

  exportRoutes(app, world)

  route(app, world, 'DELETE /api/projects/:project/conversations/:conversation', async (call) => {
    const { db, actor, project, params } = call
    await deleteConversation(db, actor, { project, conversationId: params.conversation })
    return { done: true }
  })
}

function exportRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/conversations/:conversation/conversation.json', async (call) => {
    const key = { projectId: call.project.id, id: call.params.conversation }
    const row = await call.inTenant((db) => conversationOf(db, key.projectId, key.id))
    return Readable.from(jsonOf(row, messagesOf(call, key)))
  })

  route(app, world, 'GET /api/projects/:project/conversations/:conversation/conversation.md', async (call) => {
    const key = { projectId: call.project.id, id: call.params.conversation }
    const row = await call.inTenant((db) => conversationOf(db, key.projectId, key.id))
    return Readable.from(transcriptOf(row, messagesOf(call, key)))
  })
}

interface InTenant {
  inTenant<T>(work: (tx: Db) => Promise<T>): Promise<T>
}

/** A message, and the id of the answer that it came with. */
type Exported = MessageRow & { completion: string }

/** Many short transactions: a slow download holds none open. */
async function* messagesOf({ inTenant }: InTenant, key: { projectId: string; id: string }): AsyncGenerator<Exported> {
  let after = 0n
  for (let sent = 0; sent < EXPORTED_MAX; sent += EXPORTED_PER_READ) {
    const { rows, endpoints } = await inTenant(async (db) => {
      const found = await listMessagesAfter(db, key, after, EXPORTED_PER_READ)
      return {
        rows: found,
        endpoints: await findEndpoints(
          db,
          key.projectId,
          found.map(({ callId }) => callId),
        ),
      }
    })
    for (const row of rows)
      yield { ...row, completion: completionIdOf(row.callId, endpointOf(endpoints.get(row.callId))) }
    after = rows.at(-1)?.seq ?? after
    if (rows.length < EXPORTED_PER_READ) return
  }
}

async function* jsonOf(row: ConversationRow, messages: AsyncIterable<Exported>): AsyncGenerator<string> {
  const { id, createdAt, lastCallAt, calls } = row
  yield `${JSON.stringify({ id, createdAt, lastCallAt, calls }).slice(0, -1)},"messages":[`
  let separator = '\n'
  for await (const message of messages) {
    const { role, content, completion, createdAt: at } = message
    const said = {
      role,
      ...(content as object | null),
      text: textStateOf(message),
      at,
      completion,
    }
    yield `${separator}${JSON.stringify(said)}`
    separator = ',\n'
  }
  yield '\n]}\n'
}

async function* transcriptOf(row: ConversationRow, messages: AsyncIterable<Exported>): AsyncGenerator<string> {
  yield `# Conversation ${row.id}\n\n`
  for await (const message of messages) yield markdownOf(message)
}

async function conversationOf(db: Db, projectId: string, id: string): Promise<ConversationRow> {
  const row = await findConversation(db, { projectId, id })
  if (!row) throw notThere('conversation')
  return row
}

const PLACE = /^(\d{1,18})\.([A-Za-z0-9._:-]{1,128})$/

function placeOf(after: string | undefined): ConversationPlace | undefined {
  if (after === undefined) return undefined
  const [, lastCallUs, id] = PLACE.exec(after) ?? []
  if (lastCallUs === undefined || id === undefined) throw notAPlace()
  return { lastCallUs: BigInt(lastCallUs), id }
}

function seqOf(after: string | undefined): bigint {
  if (after === undefined) return 0n
  if (!/^\d{1,18}$/.test(after)) throw notAPlace()
  return BigInt(after)
}

function notAPlace() {
  return wrongFields([{ path: 'after', message: 'Use the value of next of an earlier page.' }])
}

function viewOf(row: ConversationRow) {
  return {
    id: row.id,
    title: titleOf(row.opening),
    createdAt: row.createdAt,
    lastCallAt: row.lastCallAt,
    calls: row.calls,
    messages: Math.min(Number(row.messages), MESSAGES_COUNTED),
    hasMoreMessages: Number(row.messages) > MESSAGES_COUNTED,
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    chargedNanos: row.charged,
    paidClicks: row.clicks,
    earnedNanos: row.earned,
  }
}

/** By call, its own reply: the last of the messages that it brought. Former replies, as callers send them, come before it. */
function repliesIn(rows: readonly MessageRow[]): ReadonlyMap<string, MessageRow> {
  const last = new Map(rows.map((row) => [row.callId, row]))
  return new Map([...last].filter(([, { role }]) => role === 'assistant'))
}

function messageOf(row: MessageRow, call: CallOfMessage | undefined, carried: Carried | undefined) {
  return {
    seq: row.seq,
    role: row.role,
    at: row.createdAt,
    text: textStateOf(row),
    ...readableOf(row.content),
    call: call ? { ...call, id: completionIdOf(call.id, endpointOf(call.endpoint)), chargedNanos: call.charged } : null,
    recommendation: carriedOf(carried),
  }
}
