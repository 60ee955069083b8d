/** Follows the offers of DATABASE as fast as it can until it is killed: `node following-process.ts DATABASE DIRECTORY`. */
import { createLog } from '../../src/platform/log.ts'
import { createFollowing } from '../../src/recommend/offer-index/following.ts'
import { createWordEmbedder } from './word-embedder.ts'
import { openTestStore } from './database.ts'

const [url = '', directory = ''] = process.argv.slice(2)
const { db } = openTestStore({ url, applicationName: 'parley following' })
const following = createFollowing({ db, embedder: createWordEmbedder(), directory, log: createLog('silent') })
for (;;) {
  await following.follow()
  process.stdout.write('followed\n')
}
