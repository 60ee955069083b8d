/**
 * Learns the gates of recommendations and writes src/recommend/gates/heads.json. The same texts give the same bytes.
 *
 *   node scripts/train-gates.ts [--data DIR] [--report] [--leave-out] [--check]
 *
 * --data       a directory with prompts.json: public prompts, of which the training half is used
 * --report     what five-fold cross-validation says, by topic, with the texts that pass and should not
 * --leave-out  what becomes of a sensitive topic that nothing was learned about, one topic after the other
 * --check      writes nothing; fails when heads.json is not what would be written
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openEmbedder } from '../src/recommend/embedding/embedder.ts'
import { HEADS_PATH } from '../src/recommend/gates/heads.ts'
import { windowsOf } from '../src/rules/recommendations/text-windows.ts'
import { headsFileOf } from './gates/fitting.ts'
import { crossValidate, leaveOut, printReport } from './gates/validation.ts'
import { readOwnTexts, readPublicTexts, type Sample, type TrainingText } from './gates/texts.ts'

/**
 * As strict as it takes for none of the held-out sensitive prompts to pass (bench/sets/README.md has the story); `--report`
 * prints what others would let through and lose on the training texts.
 */
const THRESHOLDS = { sensitive: 0.01, commercial: 0.97 }

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    report: { type: 'boolean' },
    'leave-out': { type: 'boolean' },
    check: { type: 'boolean' },
  },
})

const texts = unique([...readOwnTexts(join(import.meta.dirname, '../training')), ...readPublicTexts(values.data)])
const { modelId, samples } = await embedded(texts)

if (values.report) printReport(crossValidate(samples, THRESHOLDS), THRESHOLDS)
if (values['leave-out']) leaveOut(samples, THRESHOLDS)

const json = `${JSON.stringify(headsFileOf(modelId, samples, THRESHOLDS), null, 2)}\n`
if (!values.check) writeFileSync(HEADS_PATH, json)
else if (readFileSync(HEADS_PATH, 'utf8') !== json) throw new Error('heads.json is not what these texts give')
console.log(`${samples.length} texts, ${json.length} bytes`)

/** The first one wins: a text on two sides would teach nothing. */
function unique(all: readonly TrainingText[]): TrainingText[] {
  const seen = new Set<string>()
  return all.filter(({ text }) => {
    const key = text.trim().toLowerCase()
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

async function embedded(all: readonly TrainingText[]): Promise<{ modelId: string; samples: Sample[] }> {
  const embedder = await openEmbedder({ cacheDir: join(tmpdir(), 'parley-models') })
  const windows = all.map(({ text }) => windowsOf(text))
  const vectors = await embedder.embed(windows.flat())
  await embedder.close()
  let next = 0
  return {
    modelId: embedder.modelId,
    samples: all.map((text, index) => {
      const count = windows[index]?.length ?? 0
      next += count
      return { ...text, vectors: vectors.slice(next - count, next) }
    }),
  }
}
