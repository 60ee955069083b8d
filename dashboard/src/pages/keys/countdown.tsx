import { useSyncExternalStore } from 'react'
import { SECOND_MS } from '../../durations.ts'
import { formatTime } from '../../formats.ts'
import { timeLeft } from './time-left.ts'

/** `ends in 23 h 12 min`, and in the last minutes with its seconds. `isBare`: without the words, where something else says them. */
export function Countdown({ until, isBare = false }: { until: string; isBare?: boolean }) {
  const now = useSyncExternalStore(everySecond, currentSecond)
  const left = timeLeft(Date.parse(until), now)
  return (
    <time dateTime={until} title={formatTime(until)} className="tabular whitespace-nowrap">
      {left === undefined ? 'ends now' : isBare ? left : `ends in ${left}`}
    </time>
  )
}

function everySecond(listener: () => void): () => void {
  const timer = setInterval(listener, SECOND_MS)
  return () => clearInterval(timer)
}

function currentSecond(): number {
  return Math.floor(Date.now() / SECOND_MS) * SECOND_MS
}
