import type { Item, Reply } from '../../api.ts'

export type Feed = Item<'GET /api/advertisers/:advertiser/feeds'>
export type Run = Item<'GET /api/advertisers/:advertiser/feeds/:feed/runs'>
export type Upload = Reply<'GET /api/advertisers/:advertiser/feed-uploads/:upload'>
export type Rejection = Run['rejections'][number]
export type Interval = NonNullable<Feed['source']>['every']

export const INTERVALS: { value: Interval; label: string }[] = [
  { value: 'hourly', label: 'Every hour' },
  { value: '6h', label: 'Every 6 hours' },
  { value: 'daily', label: 'Every day' },
]

export function intervalInWords(every: Interval): string {
  return INTERVALS.find(({ value }) => value === every)?.label ?? every
}

export interface Standing {
  tone: 'good' | 'warn' | 'bad' | 'neutral' | 'waiting'
  word: string
  /** An explanation, where the word alone is not enough. */
  more?: string
}

/** The state of a feed, and the remedy where something is wrong. */
export function standingOf({ source, publishedAt, isOutdated }: Feed): Standing {
  const outdated = { tone: 'warn', word: 'Too old', more: TOO_OLD } as const
  if (!source) {
    if (publishedAt === null) return { tone: 'waiting', word: 'Nothing published' }
    return isOutdated ? outdated : { tone: 'good', word: 'Published' }
  }
  const { isPaused, lastFetch, nextFetchAt, problem } = source
  if (isPaused) return { tone: 'neutral', word: 'Paused', more: isOutdated ? TOO_OLD : PAUSED }
  if (lastFetch === 'failed') return { tone: 'bad', word: 'Failed', ...(problem !== null && { more: problem }) }
  if (lastFetch === 'refused')
    return { tone: 'warn', word: 'Not published', ...(problem !== null && { more: problem }) }
  if (nextFetchAt === null) return { tone: 'waiting', word: 'Waiting', more: UNVERIFIED }
  if (lastFetch === null) return { tone: 'waiting', word: 'Waiting', more: 'It is fetched within seconds.' }
  return isOutdated ? outdated : { tone: 'good', word: 'Up to date' }
}

const TOO_OLD = 'Nothing was published for 30 days, so none of its offers is recommended.'
const PAUSED = 'Its offers stay until they are 30 days old.'
const UNVERIFIED = 'It is fetched once your domain is verified.'

export const RUN_STATES: Record<Run['state'], Standing> = {
  running: { tone: 'waiting', word: 'Running' },
  published: { tone: 'good', word: 'Published' },
  refused: { tone: 'warn', word: 'Not published' },
  failed: { tone: 'bad', word: 'Failed' },
}
