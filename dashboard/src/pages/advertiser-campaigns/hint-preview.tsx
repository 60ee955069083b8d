import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, type Reply } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { classes } from '../../components/classes.ts'
import { formatCounted } from '../../formats.ts'
import { useAdvertiser } from '../../session.ts'
import { linesOf } from './campaign-fields.ts'

type Sample = NonNullable<Reply<'POST /api/advertisers/:advertiser/hint-preview'>['samples']>[number]

const ENDPOINT = 'POST /api/advertisers/:advertiser/hint-preview'
/** Every letter would be a request. */
const PAUSE_MS = 700
/** A matcher that has just started, or is busy, may answer a moment later. */
const AGAIN_MS = 5_000

/** Shows what the hints would match, a moment after they were typed. */
export function HintPreview({ hints, negativeHints }: { hints: string; negativeHints: string }) {
  const { id: advertiser } = useAdvertiser()
  const typed = useSettled(JSON.stringify({ hints: linesOf(hints), negativeHints: linesOf(negativeHints) }))
  const body = JSON.parse(typed) as { hints: string[]; negativeHints: string[] }
  const isAsked = body.hints.length > 0
  const { data, error } = useQuery({
    queryKey: [ENDPOINT, advertiser, typed],
    queryFn: ({ signal }) => api(ENDPOINT, { params: { advertiser }, body }, signal),
    enabled: isAsked,
    placeholderData: keepPreviousData,
    // The conversations and the matcher stay as they are.
    staleTime: Infinity,
    refetchInterval: ({ state }) => (state.data?.samples === null ? AGAIN_MS : false),
    refetchOnWindowFocus: false,
    retry: false,
  })
  return (
    <section aria-label="Preview of the hints" className="rounded-lg border border-line bg-canvas px-4 py-3">
      <h3 className="text-sm font-medium">Where these hints fit</h3>
      <div aria-live="polite" className="mt-1 text-sm text-muted">
        {!isAsked ? (
          'Type a hint to see which of our sample conversations it fits.'
        ) : error ? (
          error.message
        ) : !data ? (
          'Looking …'
        ) : data.samples === null ? (
          'No preview right now: the matcher does not answer. You can still save the hints.'
        ) : (
          <Samples samples={data.samples} />
        )}
      </div>
    </section>
  )
}

/** The text once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    if (text === settled) return undefined
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, settled])
  return settled
}

function Samples({ samples }: { samples: Sample[] }) {
  const of = (outcome: Sample['outcome']) =>
    samples.filter((sample) => sample.outcome === outcome).toSorted((a, b) => (b.nearness ?? -1) - (a.nearness ?? -1))
  const [matched, unwanted, far, free] = [of('matched'), of('unwanted'), of('far'), of('free')]
  return (
    <>
      <p>
        They fit {matched.length} of {formatCounted(samples.length, 'sample conversation')}
        {unwanted.length > 0 && `; ${unwanted.length} more would fit, but you do not want to appear there`}. In a real
        conversation, the offer itself must also fit, and other advertisers bid.
      </p>
      <List samples={[...matched, ...unwanted]} />
      <Others title={`${far.length} that they do not fit, the nearest first`} samples={far} />
      <Others title={`${free.length} in which nothing is ever recommended`} samples={free} />
    </>
  )
}

function Others({ title, samples }: { title: string; samples: Sample[] }) {
  if (samples.length === 0) return null
  return (
    <details className="mt-2">
      <summary className="cursor-pointer rounded-sm font-medium text-ink">{title}</summary>
      <List samples={samples} />
    </details>
  )
}

function List({ samples }: { samples: Sample[] }) {
  return (
    <ul className="mt-2 flex flex-col gap-2.5 empty:hidden">
      {samples.map((sample) => (
        <li key={sample.said}>
          <p className={classes(sample.outcome === 'matched' ? 'text-ink' : 'text-muted')}>“{sample.said}”</p>
          <Why sample={sample} />
        </li>
      ))}
    </ul>
  )
}

function Why({ sample: { outcome, hint, nearness } }: { sample: Sample }) {
  const near = nearness === null ? '' : `, ${Math.round(100 * nearness)}% near`
  switch (outcome) {
    case 'matched':
      return (
        <p className="mt-0.5">
          <Status tone="good">Fits</Status> by “{hint}”{near}
        </p>
      )
    case 'unwanted':
      return (
        <p className="mt-0.5">
          <Status tone="warn">Not wanted</Status> because of “{hint}”{near}
        </p>
      )
    case 'far':
      return <p className="mt-0.5">{hint === null ? 'No hint' : `Nearest is “${hint}”${near}`}</p>
    case 'free':
      return null
  }
}
