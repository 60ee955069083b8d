/** One gateway's part of a race: its own process and connections, and all of its clicks at the same moment. */
import { once } from 'node:events'
import type { FastifyRequest } from 'fastify'
import { createClicks } from '../../src/gateway/recommendations/clicks.ts'
import { createNetworkTags } from '../../src/gateway/recommendations/network-tags.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { openTestStore } from '../support/database.ts'

export interface RacerTask {
  /** With a gateway's login. */
  databaseUrl: string
  /** Each is a click; the same one may be there more than once. */
  recommendations: string[]
  shownAtMs: number
  /** The first number of its readers' addresses, which are of no other racer. */
  network: number
}

const READER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  accept: 'text/html',
  'accept-language': 'en',
}

process.once('disconnect', () => process.exit(1))
const [task] = (await once(process, 'message')) as [RacerTask]
const store = openTestStore({ url: task.databaseUrl, applicationName: 'click race' })
const metrics = createMetrics()
const clicks = createClicks({
  db: store.db,
  networkTags: createNetworkTags(store.db),
  isDataCentre: () => false,
  log: createLog('silent'),
  metrics,
  stopWaitMs: 10 * 60_000,
})
const shownAt = new Date(task.shownAtMs)
const known = {
  link: 'https://a.example/',
  advertiser: 'A',
  domain: 'a.example',
  label: 'Ad',
  networkTag: null,
  legalName: null,
  category: null,
  hint: null,
  addsClickId: false,
  trackingTemplate: null,
}

process.send?.('ready')
await once(process, 'message')
await Promise.all(
  task.recommendations.map((id, n) => {
    const ip = `${task.network}.${n >> 8}.${n & 255}.7`
    const request = { method: 'GET', headers: READER, ip } as unknown as FastifyRequest
    return clicks.record(request, { ...known, id, state: 'delivered', shownAt })
  }),
)
await clicks.stop()
await store.close()
process.send?.('over')
process.disconnect()
