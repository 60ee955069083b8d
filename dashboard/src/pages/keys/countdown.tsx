import { useSyncExternalStore } from 'react'
import { formatTime } from '../../formats.ts'

const SECOND_MS = 1_000

/** `ends in 23 h 12 min`, and in the last minutes with its seconds. */
export function Countdown({ until }: { until: string }) {
  const now = useSyncExternalStore(everySecond, currentSecond)
  const left = Math.max(0, Math.ceil((Date.parse(until) - now) / SECOND_MS))
  return (
    <time dateTime={until} title={formatTime(until)} className="tabular whitespace-nowrap">
      {left === 0 ? 'ends now' : `ends in ${leftOf(left)}`}
    </time>
  )
}

function leftOf(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (days > 1) return `${days} d ${hours % 24} h`
  if (hours > 0) return `${hours} h ${minutes % 60} min`
  return minutes >= 5 ? `${minutes} min` : `${minutes > 0 ? `${minutes} min ` : ''}${seconds % 60} s`
}

function everySecond(listener: () => void): () => void {
  const timer = setInterval(listener, SECOND_MS)
  return () => clearInterval(timer)
}

function currentSecond(): number {
  return Math.floor(Date.now() / SECOND_MS) * SECOND_MS
}
