/** A matcher that speaks the real protocol over a real socket and always has the same offer, or whatever a test wants. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { judgeRequestSchema, matchRequestSchema } from '../../src/recommend/wire.ts'
import type {
  JudgeReply,
  JudgeRequest,
  Match,
  MatchReply,
  MatchRequest,
} from '../../src/rules/recommendations/matching.ts'
import type { Db } from '../../src/store/database.ts'
import { addOffer as addCatalogueOffer } from './catalogue.ts'

export interface FixedMatcher {
  url: string
  /** The requests that it got, newest last. */
  readonly matches: MatchRequest[]
  readonly judged: JudgeRequest[]
  /** The reply that it gives. Undefined: no answer at all. */
  reply: MatchReply | undefined
  judgeReply: JudgeReply
  waitMs: number
  /** It answers nothing before this. */
  gate: Promise<void> | undefined
  authorization: string | undefined
  close(): Promise<void>
}

export async function createFixedMatcher(): Promise<FixedMatcher> {
  const state: Omit<FixedMatcher, 'url' | 'close'> = {
    matches: [],
    judged: [],
    reply: { outcome: 'no_match' },
    judgeReply: { outcome: 'open' },
    waitMs: 0,
    gate: undefined,
    authorization: undefined,
  }
  const server = createServer((req, res) => {
    void textOf(req).then(async (text) => {
      state.authorization = req.headers.authorization
      const isMatch = req.url === '/match'
      if (isMatch) state.matches.push(JSON.parse(text) as MatchRequest)
      else state.judged.push(JSON.parse(text) as JudgeRequest)
      const schema = isMatch ? matchRequestSchema : judgeRequestSchema
      if (!schema.safeParse(JSON.parse(text)).success) return void res.writeHead(400).end()
      if (state.waitMs > 0) await sleep(state.waitMs)
      await state.gate
      const reply = isMatch ? state.reply : state.judgeReply
      if (reply !== undefined) res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

async function textOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of req) text += String(piece)
  return text
}

export const OFFER_LINK = 'https://northwind.example/item'

/** An offer of an active advertiser in the store, as a match of it. It has no credit: this matcher does not ask for it. */
export async function addOffer(db: Db, changes: Partial<Match> = {}): Promise<Match> {
  const offer = {
    advertiser: `Northwind Audio ${randomBytes(3).toString('hex')}`,
    headline: 'Hush 45',
    benefit: 'noise-cancelling headphones for flights',
  }
  const category = 'Electronics > Audio > Headphones'
  const added = await addCatalogueOffer(db, { ...offer, domain: 'northwind.example', category, creditNanos: 0n })
  return {
    ...added,
    ...offer,
    price: { amount: '249.00', currency: 'EUR' },
    relevance: 0.71,
    priceNanos: '120000000',
    ...changes,
  }
}

/** Switches monetization on, or to whatever a test wants, and waits until gateways have forgotten how it was. */
export async function setMonetization(db: Db, projectId: string, changes: Record<string, unknown> = {}): Promise<void> {
  const row = { project_id: projectId, mode: 'on', ...changes }
  await db
    .insertInto('monetization')
    .values(row)
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(row))
    .execute()
}
