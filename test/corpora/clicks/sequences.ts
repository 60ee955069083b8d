import { readFileSync } from 'node:fs'
import { clickNetworkOf, createNetworkList } from '../../../src/rules/clicks/networks.ts'
import type { ClickFacts, ClickVerdict } from '../../../src/rules/clicks/verdict.ts'

/**
 * Clicks on recommendations, one after the other, each with the verdict that it must have. No two sequences share a network, so
 * that all of them can be played in one installation. Clients that add headers of their own (`fetch` does) spoil them.
 */
export interface ClickSequence {
  name: string
  /** How every recommendation of the sequence was served. */
  serve: {
    /** `delivered` when not said. */
    state?: ClickFacts['state']
    /** How long before the beginning of the sequence it was shown; 0 when not said. */
    ageMs?: number
    /** How many clicks the campaign's budget and the advertiser's credit pay for; any number when not said. */
    budgetClicks?: number
    creditClicks?: number
    /** The address that called the API; default: `OTHER_CALLER`. */
    callerAddress?: string
    /** The project or publisher that has been closed since; undefined: neither. */
    closed?: 'project' | 'publisher'
  }
  /** How many recommendations there are, all shown at the same time and of one campaign; 1 when not said. */
  serves?: number
  clicks: {
    /** Since the click before; of the first one, since the beginning of the sequence. */
    afterMs: number
    /** The index of the recommendation; default: 0. */
    serve?: number
    /** GET when not said. */
    method?: string
    headers: Record<string, string>
    address: string
    expected: ClickVerdict
  }[]
}

/** Verdicts that need the ledger. Without it such a click is valid. */
export const VERDICTS_OF_LEDGER: readonly ClickVerdict[] = [
  'project_closed',
  'too_many',
  'repeat',
  'over_budget',
  'no_credit',
]

/** In no network that a click comes from. */
export const OTHER_CALLER = '192.0.2.10'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')

export const CLICK_SEQUENCES: readonly ClickSequence[] = read('sequences.jsonl')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as ClickSequence)

export const CORPUS_DATA_CENTRES = createNetworkList(read('data-centres.txt').split('\n'))

/** Returns the facts about each click of a sequence that begins at this time. */
export function factsOf({ serve, clicks }: ClickSequence, beginning: Date): ClickFacts[] {
  const { state = 'delivered', ageMs = 0, callerAddress = OTHER_CALLER } = serve
  const shownAt = new Date(beginning.getTime() - ageMs)
  let atMs = beginning.getTime()
  return clicks.map(({ afterMs, method = 'GET', headers, address }) => {
    atMs += afterMs
    return {
      method,
      headers,
      isDataCentre: CORPUS_DATA_CENTRES.has(address),
      isCallersNetwork: clickNetworkOf(address) === clickNetworkOf(callerAddress),
      state,
      shownAt,
      at: new Date(atMs),
    }
  })
}
