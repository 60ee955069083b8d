import { wrongFields } from '../../actions/refusals.ts'
import type { Message } from '../../rules/calls/message.ts'
import { labelOf, renderBlock } from '../../rules/recommendations/block.ts'
import { answerGate, CONVERSATION_CHARACTERS_MAX, mentions, turnsOf } from '../../rules/recommendations/gates.ts'
import { hasCrisisWords } from '../../rules/recommendations/lexicon.ts'
import { TOKEN_CHARS } from '../../rules/recommendations/link-token.ts'
import type { Match, MonetizationSettings, Turn } from '../../rules/recommendations/matching.ts'
import { findMonetization } from '../../store/recommendations/monetization.ts'
import { listLatestReplies, type StoredReply } from '../../store/recommendations/reports.ts'
import type { ConsoleRequest } from '../console-request.ts'
import type { World } from '../world.ts'

/** A reply with the recommendation that the matcher finds for it, as the gateway would have sent it. */

const REPLY_LENGTH_MAX = 4_000
/** So many of the latest replies are tried, and no longer than this. */
const REPLIES_TRIED = 8
const SEARCH_MS = 2_000
const ASK_MS = 500

const SAMPLE_REPLY = [
  'For a first trip of two or three days, three things decide whether you sleep well:',
  '',
  '1. **A tent that you can put up alone.** Two poles, not four.',
  '2. **A mat that is warm enough.** The ground takes more warmth than the air.',
  '3. **A sleeping bag for the coldest night**, not for the average one.',
  '',
  'Borrow the rest, and buy it when you know that you like it.',
].join('\n')

/** Goes with the reply above. */
const SAMPLE_OFFER = {
  advertiser: 'Example Shop',
  headline: 'Trail Two tent',
  benefit: 'light, and put up by one person in five minutes',
  price: { amount: '149.00', currency: 'EUR' },
}

/** As long as a real one. The links of a preview lead nowhere. */
const SAMPLE_TOKEN = 'preview'.padEnd(TOKEN_CHARS, '0')

export async function previewOf(world: World, call: ConsoleRequest<'GET /api/projects/:project/monetization/preview'>) {
  const { project, query } = call
  const { settings, replies } = await call.inTenant(async (db) => ({
    settings: await findMonetization(db, project.id),
    replies: await listLatestReplies(db, project.id, REPLY_LENGTH_MAX),
  }))
  const label = labelOf(query.label ?? settings.label)
  if (label === undefined) throw wrongFields([{ path: 'label', message: 'Choose one of the labels.' }])
  const format = query.format ?? settings.format
  const said = replies.flatMap((reply) => saidIn(reply, settings)).slice(0, REPLIES_TRIED)
  const found = await findPair(world, { projectId: project.id, settings, said })
  const pair = 'match' in found ? found : undefined
  const { gatewayUrl: publicUrl } = world.installation
  return {
    label,
    format,
    reply: pair?.said.text ?? SAMPLE_REPLY,
    block: renderBlock({ ...(pair?.match ?? SAMPLE_OFFER), label, format, publicUrl, token: SAMPLE_TOKEN }),
    match: pair
      ? {
          conversation: { id: pair.said.conversationId, at: pair.said.createdAt },
          advertiser: pair.match.advertiser,
          relevance: pair.match.relevance,
        }
      : null,
    sampleBecause: 'why' in found ? found.why : null,
  }
}

/** A reply that could have had a recommendation, and what was said before it. */
interface Said extends StoredReply {
  turns: Turn[]
}

/** None: it is code or a refusal, or about something that the publisher keeps free, or not all of it is kept. */
function saidIn(reply: StoredReply, settings: MonetizationSettings): Said[] {
  const { text } = reply
  if (answerGate({ text, finishReason: 'stop', hasRefusal: false, hasToolCalls: false }) !== undefined) return []
  if (reply.before === null || reply.before.some(({ content }) => content === null)) return []
  const messages = reply.before.map(({ role, content }) => ({ role, ...content }) as Message)
  const turns = turnsOf(messages)
  const texts = [text, ...turns.map((turn) => turn.text)]
  if (turns.at(-1)?.role !== 'user' || texts.join('').length > CONVERSATION_CHARACTERS_MAX) return []
  if (hasCrisisWords(text) || texts.some((each) => mentions(each, settings.excludedTopics))) return []
  return [{ ...reply, turns }]
}

type Pair = { said: Said; match: Match } | { why: 'no_reply' | 'no_match' | 'no_matcher' }

interface Search {
  projectId: string
  settings: MonetizationSettings
  said: readonly Said[]
}

/**
 * The first of these replies for which the matcher finds an offer. Of the catalogue a tenant may read only what its readers
 * were shown; this is one offer of those that they could be.
 */
async function findPair({ matcher }: World, { projectId, settings, said }: Search): Promise<Pair> {
  if (said.length === 0) return { why: 'no_reply' }
  const signal = AbortSignal.timeout(SEARCH_MS)
  let hasAnswered = false
  for (const each of said) {
    const { turns, text: answer } = each
    const judged = await matcher.judge({ turns, projectId, deadlineMs: ASK_MS }, signal)
    hasAnswered ||= !ABSENT.has(judged.outcome)
    if (judged.outcome !== 'open') continue
    const found = await matcher.match(
      {
        turns,
        answer,
        projectId,
        deadlineMs: ASK_MS,
        minRelevance: settings.minRelevance,
        floorNanos: settings.floorNanos.toString(),
        blockedCategories: settings.blockedCategories,
        blockedAdvertisers: settings.blockedAdvertisers,
        blockedDomains: settings.blockedDomains,
        seenOffers: [],
        isTest: true,
      },
      signal,
    )
    if ('match' in found) return { said: each, match: found.match }
  }
  return { why: hasAnswered ? 'no_match' : 'no_matcher' }
}

/** Nobody has looked for an offer. */
const ABSENT: ReadonlySet<string> = new Set(['unavailable', 'deadline', 'aborted'])
