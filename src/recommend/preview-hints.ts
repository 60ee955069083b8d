import { cleanCopy } from '../rules/offers/copy.ts'
import type { HintPreview, HintPreviewRequest, SampledHints } from '../rules/offers/hint-preview.ts'
import { contenders, HINTED_COSINE_MIN, rank, RELEVANCE_MIN, type Candidate } from '../rules/recommendations/ranking.ts'
import { toInt8 } from '../rules/recommendations/vectors.ts'
import { NEGATIVE_NEAR, nearestHint, type Hint } from './campaigns/hint-book.ts'
import type { Embedder } from './embedding/embedder.ts'
import { rememberVectors } from './embedding/remembered-vectors.ts'
import type { Gates } from './gates/gates.ts'
import { judge } from './match.ts'
import { SAMPLE_CONVERSATIONS, type SampleConversation } from './sample-conversations.ts'

/**
 * The sample conversations in which a campaign would be recommended by its hints alone. Conversations are judged and hints are
 * compared as they are live: only offers and other advertisers are left out.
 */
export interface HintPreviews {
  preview(request: Pick<HintPreviewRequest, 'hints' | 'negativeHints'>): Promise<HintPreview>
}

/** Hints are remembered while they are typed: one that changes is embedded again, all others are known. */
const REMEMBERED_MAX = 2_000

interface JudgedSample extends SampleConversation {
  isOpen: boolean
  /** The vector to search with. */
  asked: Int8Array
}

export function createHintPreviews({ gates, embedder }: { gates: Gates; embedder: Embedder }): HintPreviews {
  const remembering = rememberVectors(embedder, REMEMBERED_MAX)
  let judged: Promise<JudgedSample[]> | undefined

  /** They never change, so they are judged once. */
  async function samples(): Promise<JudgedSample[]> {
    judged ??= judgeAll(gates)
    judged.catch(() => (judged = undefined))
    return judged
  }

  async function hintsOf(texts: readonly string[]): Promise<Hint[]> {
    const cleaned = texts.map(cleanCopy)
    const vectors = cleaned.length === 0 ? [] : await remembering.embed(cleaned)
    return vectors.map((vector, n) => ({ text: cleaned[n] ?? '', vector: toInt8(vector) }))
  }

  return {
    async preview({ hints, negativeHints }) {
      const [context, negative] = [await hintsOf(hints), await hintsOf(negativeHints)]
      const shown = (await samples()).map((sample) => sampled(sample, context, negative))
      return { samples: shown, nearEnough: RELEVANCE_MIN }
    },
  }
}

async function judgeAll(gates: Gates): Promise<JudgedSample[]> {
  const judged: JudgedSample[] = []
  for (const sample of SAMPLE_CONVERSATIONS) {
    const { said, answer } = sample
    const { outcome } = await judge({ gates, campaigns: { isOn: true } }, { turns: [{ role: 'user', text: said }] })
    const { isSensitive, vector } = await gates.judgeAnswer(said, answer)
    judged.push({ ...sample, isOpen: outcome === 'open' && !isSensitive, asked: toInt8(vector) })
  }
  return judged
}

function sampled({ said, answer, isOpen, asked }: JudgedSample, context: Hint[], negative: Hint[]): SampledHints {
  if (!isOpen) return { said, answer, outcome: 'free', hint: null, nearness: null }
  const unwanted = nearestHint(negative, asked, NEGATIVE_NEAR)
  const nearest = nearestHint(context, asked)
  const fits = nearest !== undefined && isRelevant(nearest.cosine)
  const outcome = !fits ? 'far' : unwanted ? 'unwanted' : 'matched'
  const decided = outcome === 'unwanted' ? unwanted : nearest
  return { said, answer, outcome, hint: decided?.text ?? null, nearness: decided?.cosine ?? null }
}

/** Assumes an offer that has just enough to do with the matter for a hint to speak for it. */
function isRelevant(hintCosine: number): boolean {
  const offer: Candidate = { ...ANY_OFFER, cosine: HINTED_COSINE_MIN, hintCosine }
  return contenders(rank([offer]), RELEVANCE_MIN, () => 'the advertiser').length > 0
}

const ANY_OFFER = { id: '', campaignId: '', feedId: '', itemGroup: '', category: '', host: '', bm25: 0 }
