import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { MINUTE_MS } from '../rules/durations.ts'

/** The channels that the store's triggers notify. */
export type Channel = 'parley_catalogue'

export interface ListenOptions {
  url: string
  applicationName: string
  channel: Channel
  /** Called for each notice, and whenever listening begins (again): what was said before then, nobody heard. */
  onNotice(): void
  /** How long after the first failure the next try comes; doubled up to a minute. */
  retryMs?: number
}

export interface Listening {
  stop(): Promise<void>
}

const RETRY_MS_MAX = MINUTE_MS
/** A server that is gone without a word is noticed by asking it. */
const ASK_EVERY_MS = 30_000
const ANSWER_WITHIN_MS = 5_000
const GOODBYE_MS = 1_000

/**
 * A connection of its own that waits for notices, replaced for ever when it breaks. It never throws: without it changes
 * are only seen later, by whoever polls for them.
 */
export function listen(options: ListenOptions): Listening {
  const { retryMs = 250 } = options
  let client: Client | undefined
  let failures = 0
  let isStopped = false
  let timer: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const fresh = new Client({
      connectionString: options.url,
      application_name: options.applicationName,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      keepAlive: true,
    })
    client = fresh
    let isOver = false
    const retry = () => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      fresh.end().catch(() => {})
      if (isStopped) return
      const waitMs = Math.min(retryMs * 2 ** failures, RETRY_MS_MAX)
      failures += 1
      timer = setTimeout(() => void connect(), waitMs)
    }
    fresh.on('error', retry)
    fresh.on('end', retry)
    fresh.on('notification', () => options.onNotice())
    try {
      await fresh.connect()
      await fresh.query(`listen ${options.channel}`)
      failures = 0
      options.onNotice()
      if (!isOver && !isStopped) keepAsking(fresh, retry)
    } catch {
      retry()
    }
  }

  function keepAsking(asked: Client, retry: () => void): void {
    timer = setTimeout(() => {
      const again = () => (client === asked && !isStopped ? keepAsking(asked, retry) : undefined)
      void asked.query('select 1').then(again, retry)
    }, ASK_EVERY_MS)
  }

  void connect()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      // A server that answers nothing would not say goodbye either.
      await Promise.race([client?.end().catch(() => {}), sleep(GOODBYE_MS, undefined, { ref: false })])
    },
  }
}
