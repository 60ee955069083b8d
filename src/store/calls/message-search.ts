import { sql } from 'kysely'
import { FIRST_UUID } from '../../platform/uuid.ts'
import type { TextSearch } from '../../rules/calls/search/text-search.ts'
import type { Db } from '../database.ts'
import type { ConversationKey } from './conversations.ts'

export interface FoundMessage {
  seq: bigint
  conversationId: string
  role: string
  createdAt: Date
  /** With U+0001 and U+0002 around what was found. */
  snippet: string
}

export interface MessageSearch {
  text: TextSearch
  /** Undefined: from the newest on. */
  before: bigint | undefined
  most: number
  budgetMs: number
}

export interface MessagesFound {
  messages: FoundMessage[]
  /** Its time was over: there may be more before this one. */
  stoppedAt: bigint | undefined
}

/** The statement's own limit is for one whose first step does not end: the budget is looked at between steps. */
const BEYOND_BUDGET_MS = 3_000

export async function searchMessages(tx: Db, projectId: string, search: MessageSearch): Promise<MessagesFound> {
  const { text, before, most, budgetMs } = search
  await sql`select set_config('statement_timeout', ${String(budgetMs + BEYOND_BUDGET_MS)}, true)`.execute(tx)
  const { rows } = await sql<FoundMessage & { conversationId: string | null }>`
    select seq, conversation_id as "conversationId", role, created_at as "createdAt", snippet
    from search_messages(${projectId}::uuid, ${text.sought}::text[], ${text.unwanted}::text[], ${before ?? null}::int8,
      ${most}::int, ${budgetMs}::int)`.execute(tx)
  return {
    messages: rows.filter((row) => row.conversationId !== null),
    stoppedAt: rows.find((row) => row.conversationId === null)?.seq,
  }
}

/** Adds words, in the next conversations after a place, to messages that were stored before there were any. */
export async function addMissingWords(
  db: Db,
  after: ConversationKey | undefined,
  most: number,
): Promise<{ reached: ConversationKey | undefined; added: number }> {
  const from = after ?? { projectId: FIRST_UUID, id: '' }
  const { rows } = await sql<ConversationKey & { seen: number; added: number }>`
    select project as "projectId", id, seen, added
    from add_missing_words(${from.projectId}::uuid, ${from.id}::text, ${most}::int)`.execute(db)
  const [last] = rows
  if (!last) return { reached: undefined, added: 0 }
  // There may be more in these.
  if (last.added >= most) return { reached: from, added: last.added }
  return { reached: last.seen < most ? undefined : { projectId: last.projectId, id: last.id }, added: last.added }
}
