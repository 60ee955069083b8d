/** Started as a process of its own, so that only the import's memory is measured. */
import { createReadStream } from 'node:fs'
import { importText, type Shop } from './feeds.ts'
import { openTestStore } from './database.ts'

const [shop = '', url = '', path = ''] = process.argv.slice(2)
const store = openTestStore({ url, applicationName: 'measured import', poolMax: 2, statementTimeoutMs: 60_000 })
const before = process.memoryUsage.rss()
let most = before
const { counts } = await importText(store.db, JSON.parse(shop) as Shop, '', {
  bytes: createReadStream(path),
  onProgress: () => (most = Math.max(most, process.memoryUsage.rss())),
})
process.send?.({ added: counts.added, grownMb: Math.round((most - before) / 1_000_000) })
await store.close()
process.disconnect()
