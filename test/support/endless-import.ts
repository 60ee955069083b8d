/** Started as a process of its own, to be killed: an import that has gathered items and never comes to its end. */
import { importText, itemOf, jsonLines, type Shop } from './feeds.ts'
import { openTestStore } from './database.ts'

const [shop = '', url = ''] = process.argv.slice(2)
const store = openTestStore({ url, applicationName: 'endless import', poolMax: 2 })

async function* endless(): AsyncGenerator<Buffer> {
  yield Buffer.from(jsonLines(Array.from({ length: 2_500 }, (_, n) => itemOf(`x${n}`))))
  // Keeps the process alive although no more lines come.
  await new Promise((resolve) => setTimeout(resolve, 600_000))
}

await importText(store.db, JSON.parse(shop) as Shop, '', {
  bytes: endless(),
  onProgress: ({ rows }) => rows >= 2_000 && process.send?.('staged'),
})
