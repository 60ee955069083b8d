/** The matcher's own parts over one catalogue, in this process: what a gateway would be answered, without the wire. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../src/platform/log.ts'
import { createCampaigns } from '../../src/recommend/campaigns/campaigns.ts'
import type { Embedder } from '../../src/recommend/embedding/embedder.ts'
import { createFollowing } from '../../src/recommend/offer-index/following.ts'
import type { Gates } from '../../src/recommend/gates/gates.ts'
import { match } from '../../src/recommend/match.ts'
import type { MatchReply, MatchRequest } from '../../src/rules/recommendations/matching.ts'
import { openStore } from '../../src/store/database.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { loginUrl } from '../../test/support/logins.ts'
import { seedCatalogue, uuidOf } from './catalogue.ts'
import type { CatalogueOffer } from './sets.ts'
import type { VectorShelf } from './vector-shelf.ts'

export interface MatcherInProcess {
  match(request: MatchRequest): Promise<MatchReply>
  /** Our id of what was matched. */
  offerOf(matchedId: string): CatalogueOffer
  close(): Promise<void>
}

const NEVER_LATE = () => false
const DEADLINE_MS = 60_000

/** Gates that let everything through, to see what comes after them. */
export function openGates(gates: Gates): Gates {
  return {
    judge: async () => ({
      verdict: 'commercial',
      because: 'wish',
      topic: undefined,
      sensitivity: 0,
      commerce: 1,
      vectors: undefined,
    }),
    judgeAnswer: async (said, answer) => ({ ...(await gates.judgeAnswer(said, answer)), isSensitive: false }),
  }
}

export async function openMatcher(
  offers: readonly CatalogueOffer[],
  { embedder, gates, shelf }: { embedder: Embedder; gates: Gates; shelf: VectorShelf },
): Promise<MatcherInProcess> {
  const database = await createTestDatabase()
  const matcherUrl = loginUrl(database.url, 'matcher')
  const matcherStore = openStore({ url: matcherUrl, applicationName: 'parley bench', statementTimeoutMs: DEADLINE_MS })
  const directory = await mkdtemp(join(tmpdir(), 'parley-bench-matcher-'))
  const log = createLog('warn', process.stderr)
  const following = createFollowing({ db: matcherStore.db, embedder, directory, log })
  const close = async () => {
    await following.close()
    await matcherStore.close()
    await database.drop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await seedCatalogue(database.url, offers, shelf)
    const campaigns = createCampaigns({ db: matcherStore.db, embedder, log })
    await campaigns.refresh()
    await campaigns.learnHints()
    do await following.follow()
    while (following.hasBacklog)
    const { index } = following
    if (!index) throw new Error('the index was not built')
    const world = { gates, index, campaigns, now: Date.now }
    const byId = new Map(offers.map((offer) => [uuidOf('offer', offer.id), offer]))
    return {
      match: (request) => match(world, request, NEVER_LATE),
      offerOf(matchedId) {
        const offer = byId.get(matchedId)
        if (!offer) throw new Error(`${matchedId} is not in the catalogue`)
        return offer
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
