/** `23 h 12 min`, and in the last minutes with its seconds; undefined when nothing is left. */
export function timeLeft(untilMs: number, nowMs: number): string | undefined {
  const seconds = Math.ceil((untilMs - nowMs) / 1_000)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (seconds <= 0) return undefined
  if (days > 1) return `${days} d ${hours % 24} h`
  if (hours > 0) return `${hours} h ${minutes % 60} min`
  return minutes >= 5 ? `${minutes} min` : `${minutes > 0 ? `${minutes} min ` : ''}${seconds % 60} s`
}
