import type { FastifyInstance } from 'fastify'
import { wrongFields } from '../../actions/refusals.ts'
import { SECOND_MS } from '../../rules/durations.ts'
import { piecesOf, problemOf, textSearchOf } from '../../rules/calls/search/text-search.ts'
import { visibleText } from '../../rules/visible-text.ts'
import { isTooSlow, type Db } from '../../store/database.ts'
import {
  searchMessages,
  type FoundMessage,
  type MessageSearch,
  type MessagesFound,
} from '../../store/calls/message-search.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/** The messages found by then are shown, with a way to go on. */
const BUDGET_MS = 2 * SECOND_MS

export function messageSearchRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/projects/:project/message-search', async ({ db, project, body }) => {
    const text = textSearchOf(body.text)
    const problem = problemOf(text)
    if (problem !== undefined) throw wrongFields([{ path: 'text', message: problem }])
    const search = { text, before: placeOf(body.after), most: body.limit + 1, budgetMs: BUDGET_MS }
    const { messages, stoppedAt } = await found(db, project.id, search)
    const shown = messages.slice(0, body.limit)
    const next = messages.length > body.limit ? shown.at(-1)?.seq : stoppedAt
    return { items: shown.map(viewOf), next: next === undefined ? null : String(next) }
  })
}

/** One block of messages that cannot be read in time: going on from elsewhere would not help. */
async function found(db: Db, projectId: string, search: MessageSearch): Promise<MessagesFound> {
  try {
    return await searchMessages(db, projectId, search)
  } catch (error) {
    if (!isTooSlow(error)) throw error
    const message = 'This search took too long and was stopped. Add a rarer word, or a phrase in quotation marks.'
    throw wrongFields([{ path: 'text', message }])
  }
}

function placeOf(after: string | undefined): bigint | undefined {
  if (after === undefined) return undefined
  if (/^\d{1,18}$/.test(after)) return BigInt(after)
  throw wrongFields([{ path: 'after', message: 'Use the value of next of an earlier page.' }])
}

function viewOf({ seq, conversationId, role, createdAt, snippet }: FoundMessage) {
  const pieces = piecesOf(snippet).map(({ text, isMatch }) => ({ text: visibleText(text), isMatch }))
  return { seq, conversation: conversationId, role, at: createdAt, snippet: pieces }
}
