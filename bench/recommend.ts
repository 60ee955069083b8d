/**
 * How good and how safe recommendations are, a line for each bar: `npm run bench:recommend -- --data DIR`. Without a
 * folder of public data only our own sets are used. The exit code is 1 when a bar is missed.
 */
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { LOCAL_ADMIN_URL } from '../scripts/postgres.ts'
import { openEmbedder } from '../src/recommend/embedding/embedder.ts'
import { createGates } from '../src/recommend/gates/gates.ts'
import { readHeads } from '../src/recommend/gates/heads.ts'
import { fingerprint, PROOF_PATH, type ProofFile } from '../src/recommend/gates/proof.ts'
import { conversationResult, showAll, tuningLines, type Annotated } from './recommend/conversation-bar.ts'
import { buildIndex, denseEngine, hybridEngine, lexicalEngine, postgresEngines } from './recommend/engines.ts'
import { measureFirstToken } from './recommend/first-token.ts'
import { handLines } from './recommend/hand-conversations.ts'
import { openGates, openMatcher, type MatcherInProcess } from './recommend/matcher-in-process.ts'
import { poolOf, writePool } from './recommend/pool.ts'
import { openPostgresSearch } from './recommend/postgres-search.ts'
import { isReached, linesOf, type Result } from './recommend/report.ts'
import { CAPROD_BAR, ICECAT_BAR, measureSearch, type SearchBar } from './recommend/search-bars.ts'
import {
  readAnnotations,
  readConversations,
  readHandConversations,
  readHeldOutTalks,
  readOwnOffers,
  readPublicOffers,
  readSearchSet,
  readTalks,
  SENSITIVE_SETS,
  type CatalogueOffer,
  type Talk,
} from './recommend/sets.ts'
import { everydayResult, hearAll, mustSpeak, sensitiveResult, type Heard } from './recommend/silence-bars.ts'
import { openVectorShelf } from './recommend/vector-shelf.ts'

const { values } = parseArgs({
  options: {
    /** Public sets: icecat.json, caprod.json, brands.json, prompts.json, conversations.json. */
    data: { type: 'string' },
    /** Only these, "E1,E3". */
    only: { type: 'string' },
    /** How many offers E10 is measured with; without it E10 is left out. */
    offers: { type: 'string' },
    /** E9: starts a simulator, a gateway and a matcher. */
    ttft: { type: 'boolean', default: false },
    /** Shows the figures for other least relevances, on the development half. */
    tune: { type: 'boolean', default: false },
    /** Writes down that these gates showed nothing on all sensitive prompts. */
    prove: { type: 'boolean', default: false },
    /** Writes what annotators judge to this file, and measures nothing. */
    pool: { type: 'string' },
  },
})

const [PROMPTS_MIN, CLASSES_MIN] = [500, 15]
const KEPT_DIR = join(import.meta.dirname, '../.parley')
const adminUrl = process.env.PARLEY_TEST_POSTGRES_URL || LOCAL_ADMIN_URL

const embedder = await openEmbedder({ cacheDir: join(KEPT_DIR, 'models') })
const shelf = openVectorShelf(embedder, join(KEPT_DIR, 'bench'))
const gates = createGates({ embedder, heads: readHeads() })
const ownOffers = readOwnOffers()
let missed = 0

if (values.pool === undefined) await measureAll()
else
  await withEngines(ownOffers, async (engines) =>
    writePool(String(values.pool), await poolOf(readConversations(), ownOffers, engines)),
  )
await embedder.close()
process.exitCode = missed > 0 ? 1 : 0

async function measureAll(): Promise<void> {
  if (values.data !== undefined && isWanted('E1')) await search(values.data, 'icecat', ICECAT_BAR)
  if (values.data !== undefined && isWanted('E2')) await search(values.data, 'caprod', CAPROD_BAR)
  if (isWanted('E3') || isWanted('E4') || isWanted('E5')) await match()
  if (values.ttft) report(await measureFirstToken(ownOffers, shelf))
  if (values.offers !== undefined) await measureMatcher(Number(values.offers), values.data)
}

/** E1, E2. */
async function search(dir: string, name: 'icecat' | 'caprod', bar: SearchBar): Promise<void> {
  const set = readSearchSet(dir, name)
  await withEngines(set.offers, async ([engine, ...baselines]) => {
    if (engine) report(await measureSearch(set, bar, engine, baselines))
  })
}

/** E3, E4, E5: whole matches. */
async function match(): Promise<void> {
  const own = await openMatcher(ownOffers, { embedder, gates, shelf })
  const isPublic = values.data !== undefined && (isWanted('E4') || isWanted('E5'))
  const large = isPublic
    ? await openMatcher(readPublicOffers(values.data ?? ''), { embedder, gates, shelf })
    : undefined
  try {
    for (const matcher of [own, large]) if (matcher) await mustSpeak(matcher)
    if (isWanted('E3')) await conversations(own, large)
    if (isWanted('E4')) await everyday(own, large)
    if (isWanted('E5')) await sensitive(own, large)
  } finally {
    await own.close()
    await large?.close()
  }
}

async function conversations(own: MatcherInProcess, large: MatcherInProcess | undefined): Promise<void> {
  const annotated: Annotated = {
    conversations: readConversations(),
    a: readAnnotations('a'),
    b: readAnnotations('b'),
    c: readAnnotations('c'),
  }
  if (values.tune) await tune(annotated)
  const shown = await showAll(annotated.conversations, own)
  const titles = new Map(ownOffers.map(({ id, title }) => [id, title]))
  await withEngines(ownOffers, async (engines) => {
    report(await conversationResult(annotated, shown, engines, (id) => titles.get(id) ?? id))
  })
  if (values.data === undefined || large === undefined) return
  for (const line of await handLines(readHandConversations(values.data), large)) console.log(`   ${line}`)
}

async function tune(annotated: Annotated): Promise<void> {
  const matcher = await openMatcher(ownOffers, { embedder, gates: openGates(gates), shelf })
  try {
    for (const line of await tuningLines(annotated, matcher)) console.log(line)
  } finally {
    await matcher.close()
  }
}

async function everyday(own: MatcherInProcess, large: MatcherInProcess | undefined): Promise<void> {
  const ours = readTalks('everyday')
  report(everydayResult('own prompts, own offers', await hearAll('E4', ours, own)))
  if (values.data === undefined || large === undefined) return
  const all = [...ours, ...readHeldOutTalks(values.data, 'everyday')]
  report(everydayResult('all prompts, public offers', await hearAll('E4 public', all, large)))
}

async function sensitive(own: MatcherInProcess, large: MatcherInProcess | undefined): Promise<void> {
  const ours = SENSITIVE_SETS.map(readTalks)
  const theirs = values.data === undefined ? [] : readHeldOutTalks(values.data, 'sensitive')
  const heard: Heard[] = []
  const tell = async (name: string, talks: readonly Talk[], matcher: MatcherInProcess) => {
    const some = await hearAll(`E5 ${name}`, talks, matcher)
    report(sensitiveResult(name, some, PROMPTS_MIN, CLASSES_MIN))
    heard.push(...some)
  }
  for (const [n, talks] of ours.entries()) await tell(`set ${n + 1}, own offers`, talks, own)
  if (large !== undefined) await tell('all sets, public offers', [...ours.flat(), ...theirs], large)
  if (values.prove) prove(heard)
}

/** Never written for gates that showed anything: what is not proven stays switched off. */
function prove(heard: readonly Heard[]): void {
  const prompts = new Set(heard.map(({ talk }) => talk.id)).size
  const shown = heard.filter(({ isShown }) => isShown).length
  if (shown > 0) return console.log(`   not proven: ${shown} shown`)
  const proof: ProofFile = { fingerprint: fingerprint(), prompts, shown }
  writeFileSync(PROOF_PATH, `${JSON.stringify(proof, undefined, 2)}\n`)
  console.log(`   proven on ${prompts} prompts`)
}

async function measureMatcher(offers: number, data: string | undefined): Promise<void> {
  const { measureE10 } = await import('./matcher.ts')
  report(await measureE10({ offers, data }))
}

/** Our engine first, then what it is compared with. */
async function withEngines(
  offers: readonly CatalogueOffer[],
  work: (engines: Awaited<ReturnType<typeof denseEngine>>[]) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-bench-index-'))
  const postgres = await openPostgresSearch(adminUrl, offers)
  const index = await buildIndex(directory, offers, shelf)
  try {
    await work([
      hybridEngine(index, embedder),
      lexicalEngine(index),
      await denseEngine(offers, embedder, shelf),
      ...postgresEngines(postgres),
    ])
  } finally {
    index.close()
    await postgres.close()
    await rm(directory, { recursive: true, force: true })
  }
}

function isWanted(bar: string): boolean {
  return values.only === undefined || values.only.split(',').includes(bar)
}

function report(result: Result): void {
  if (!isReached(result)) missed += 1
  console.log(linesOf(result).join('\n'))
}
