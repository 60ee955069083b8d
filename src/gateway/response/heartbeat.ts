/** Middleboxes cut connections that are silent for a minute. */
const HEARTBEAT_MS = 15_000

/** One newline: the only heartbeat that every client survives. A blank line would be an empty event. */
const PING = ': ping\n'

export interface Heartbeat {
  /** Something else was sent: the next one is due this much later. */
  refresh(): void
  stop(): void
}

/** Tells a caller, and the proxies on the way, that an answer which says nothing for a while still lives. */
export function startHeartbeat(beat: (ping: string) => void, everyMs = HEARTBEAT_MS): Heartbeat {
  const timer = setInterval(() => beat(PING), everyMs)
  return { refresh: () => timer.refresh(), stop: () => clearInterval(timer) }
}
