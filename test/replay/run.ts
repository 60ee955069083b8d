/**
 * `npm run replay -- --data DIRECTORY`: answers of real providers, read by the gateway's own adapters over a socket, and
 * compared with an independent reading of the same bytes.
 *
 *   npm run replay -- --data DIRECTORY [--only mistral] [--all]     --all shows every difference
 */
import { parseArgs } from 'node:util'
import { createReplayer } from './adapter.ts'
import { asStream, readCaptures, Unreadable, type Capture } from './captures.ts'
import { differencesIn } from './compare.ts'
import { reasonFor } from './named.ts'
import { readingOf } from './reading.ts'

const { values: flags } = parseArgs({
  options: { data: { type: 'string' }, only: { type: 'string' }, all: { type: 'boolean', default: false } },
})
if (flags.data === undefined) throw new Error('--data is the directory with captures.jsonl.gz')
const SHOWN_MAX = flags.all ? Infinity : 40

const { only } = flags
const isChosen = ({ provider, source }: Capture) => !only || provider === only || source.includes(only)
const captures = readCaptures(flags.data).filter(isChosen)
const named = new Map<string, string[]>()
const wrong: string[] = []
let right = 0
const replayer = await createReplayer()
for (const capture of captures) {
  const title = `${capture.provider} (${capture.format}, ${capture.mode}) ${capture.source}`
  const { differences, reason } = await judge(capture)
  if (differences.length === 0) right += 1
  else if (reason) named.set(reason, [...(named.get(reason) ?? []), title])
  else wrong.push(`${title}\n    ${differences.join('\n    ').slice(0, 600)}`)
}
await replayer.close()

for (const each of wrong.slice(0, SHOWN_MAX)) console.log(`WRONG ${each}`)
for (const [reason, titles] of named)
  console.log(`${titles.length} × ${reason}${flags.all ? `\n    ${titles.join('\n    ')}` : ''}`)
const namedCount = [...named.values()].reduce((sum, { length }) => sum + length, 0)
console.log(`replay: ${right} right, ${namedCount} named, ${wrong.length} wrong`)
process.exitCode = wrong.length === 0 && right > 0 ? 0 : 1

async function judge(capture: Capture): Promise<{ differences: string[]; reason?: string | undefined }> {
  try {
    const played = asStream(capture)
    const said = capture.mode === 'error' ? undefined : readingOf(played)
    const made = await replayer.replay(played)
    const differences = said ? differencesIn(played, said, made) : refusalsIn(capture, made.failedWith)
    return { differences, reason: reasonFor(said) }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { differences: ['unreadable'], reason: 'not what whoever recorded it says that it is' }
  }
}

/** A refusal must not be taken for an answer, and be blamed on whoever has caused it. */
function refusalsIn({ status }: Capture, failedWith: string | undefined): string[] {
  const kinds: Record<number, readonly string[]> = {
    401: ['key_rejected'],
    403: ['key_rejected'],
    429: ['rate_limited'],
  }
  const expected = kinds[status] ?? ['rejected', 'model_failed', 'key_rejected']
  return failedWith !== undefined && expected.includes(failedWith) ? [] : [`status ${status} is ${failedWith}`]
}
