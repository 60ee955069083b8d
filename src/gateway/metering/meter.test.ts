import assert from 'node:assert/strict'
import { test } from 'node:test'
import { billFor } from '../../rules/billing/charging.ts'
import type { ContentChunk } from '../../rules/calls/chunk.ts'
import { NO_FIGURES } from '../../rules/catalogue/figures.ts'
import { costOf, type Price } from '../../rules/billing/pricing.ts'
import { NO_USAGE, type Usage } from '../../rules/billing/usage.ts'
import { createMeter, type MeterOptions } from './meter.ts'
import type { MeteredPrompt } from './prompt.ts'

const PRICE: Price = {
  version: 1n,
  input: 1_000_000_000n,
  cachedInput: 500_000_000n,
  cacheWrite: 1_000_000_000n,
  output: 4_000_000_000n,
  reasoning: 5_000_000_000n,
}
const PROMPT: MeteredPrompt = {
  tokens: 10,
  count: async () => 10,
  possible: () => 1_000,
  isUnknown: false,
  ratioTo: () => undefined,
}

function worth(tokens: Partial<Usage>): bigint {
  return costOf({ ...NO_USAGE, input: 10, ...tokens }, PRICE)
}

/** A meter over a hold that pays for so many tokens of answer, and a wallet that has some more. */
function meterOver(heldTokens: number, more: Partial<MeterOptions> & { moreTokens?: number } = {}) {
  const { moreTokens = 0, ...options } = more
  const hold = { tokens: heldTokens, extensions: 0 }
  const meter = createMeter({
    prompt: PROMPT,
    price: PRICE,
    figures: { ...NO_FIGURES, reasoning: 0 },
    outputMax: 10_000,
    isTold: true,
    isReportDue: true,
    isHiding: false,
    ratioOf: () => undefined,
    isBounded: false,
    held: () => worth({ output: hold.tokens }),
    async extend() {
      hold.extensions += 1
      const hasGrown = hold.tokens < heldTokens + moreTokens
      hold.tokens = heldTokens + moreTokens
      return hasGrown
    },
    ...options,
  })
  return { meter, hold }
}

function text(value: string): ContentChunk {
  return { type: 'text', text: value }
}

test('an answer is admitted as far as the hold pays for it, and the hold grows before it is used up', async () => {
  const { meter, hold } = meterOver(10, { moreTokens: 10 })
  for (let i = 0; i < 20; i++) assert.equal(await meter.admit(text(' word')), true, `word ${i}`)
  assert.equal(await meter.admit(text(' word')), false)
  assert.equal(hold.extensions, 2, 'one that was granted and one that was not')
  assert.equal(await meter.admit(text(' word')), false)
  assert.equal(hold.extensions, 2, 'a refused one is not asked for again')
})

test('while nobody can say what the wallet has, what is held is used, and then the meter throws instead of ending the answer', async () => {
  const away = new Error('the store is away')
  const { meter } = meterOver(10, { extend: () => Promise.reject(away) })
  for (let i = 0; i < 10; i++) assert.equal(await meter.admit(text(' word')), true, `word ${i}`)
  await assert.rejects(async () => meter.admit(text(' word')), away)
  const { meter: long } = meterOver(10, { extend: () => Promise.reject(away) })
  assert.equal(await long.admit(text(' word word word word word word word word')), true)
  await assert.rejects(async () => long.hasRoom(), away)
})

test('a chunk that does not fit waits for the hold to grow, and is admitted only if it has grown enough', async () => {
  for (const [words, isAdmitted] of [
    [10, true],
    [15, true],
    [16, false],
  ] as const) {
    const { meter, hold } = meterOver(10, { moreTokens: 5 })
    assert.equal(await meter.admit(text(' word'.repeat(words))), isAdmitted, `${words} words`)
    assert.equal(hold.extensions, 1)
  }
})

test('where chunks are large, an answer ends before the one that nobody would pay for', async () => {
  const { meter } = meterOver(10)
  const large = ' word word word word'
  assert.equal(await meter.admit(text(large)), true)
  assert.equal(await meter.hasRoom(), true)
  assert.equal(await meter.admit(text(large)), true)
  assert.equal(await meter.hasRoom(), false, 'two of the ten tokens are left, and four would come')
})

test('small chunks use a hold to its end', async () => {
  const { meter } = meterOver(10)
  for (let i = 0; i < 10; i++) {
    assert.equal(await meter.admit(text(' word')), true)
    assert.equal(await meter.hasRoom(), true)
  }
})

test('a provider that was told where to stop counts in its own way, up to twice ours', async () => {
  const { meter, hold } = meterOver(10, { isBounded: true })
  for (let i = 0; i < 22; i++) assert.equal(await meter.admit(text(' word')), true)
  assert.equal(await meter.hasRoom(), true)
  assert.equal(hold.extensions, 0)
  for (let i = 0; i < 3; i++) await meter.admit(text(' word'))
  assert.equal(await meter.admit(text(' word')), false)
})

test('a report rules over our count', async () => {
  const { meter } = meterOver(100)
  await meter.admit(text(' word'))
  const usage = { ...NO_USAGE, input: 12, output: 3 }
  meter.report(usage, false)
  const concluded = await meter.conclude('whole')
  assert.deepEqual([concluded.usage, concluded.source, concluded.anomalies], [usage, 'reported', []])
})

test('without a report our count stands, and only a whole answer should have had one', async () => {
  for (const [end, anomalies] of [
    ['whole', ['missing']],
    ['cancelled', []],
    ['cut', []],
  ] as const) {
    const { meter } = meterOver(100)
    await meter.admit(text(' word word'))
    const concluded = await meter.conclude(end)
    assert.deepEqual(concluded.usage, { ...NO_USAGE, input: 10, output: 2 })
    assert.deepEqual([concluded.source, concluded.anomalies], ['estimated', anomalies])
  }
})

test('an answer that is longer than the catalogue says was written all the same; one that was told to stop was not', async () => {
  const usage = { ...NO_USAGE, input: 10, output: 60 }
  for (const [isTold, output, anomalies] of [
    [false, 60, []],
    [true, 20, ['output_too_large']],
  ] as const) {
    const { meter } = meterOver(1_000, { isTold, outputMax: 20 })
    for (let i = 0; i < 60; i++) await meter.admit(text(' word'))
    meter.report(usage, false)
    const concluded = await meter.conclude('whole')
    assert.deepEqual([concluded.usage.output, concluded.anomalies], [output, anomalies])
  }
})

test('thoughts are noticed also where they are counted as output', async () => {
  const { meter } = meterOver(1_000, { figures: NO_FIGURES })
  await meter.admit(text(' word'))
  meter.report({ ...NO_USAGE, input: 10, output: 71 }, false)
  assert.equal((await meter.conclude('whole')).hasHidden, true)
  const { meter: other } = meterOver(1_000, { figures: NO_FIGURES })
  await other.admit(text(' word'))
  other.report({ ...NO_USAGE, input: 10, output: 69 }, false)
  assert.equal((await other.conclude('whole')).hasHidden, false, '5 bytes, and 64 tokens that providers add')
  const { meter: unseen } = meterOver(1_000, { figures: NO_FIGURES })
  unseen.report({ ...NO_USAGE, input: 10, output: 300 }, false)
  assert.equal((await unseen.conclude('whole')).hasHidden, undefined, 'a filter may have withheld it')
  const { meter: unreported } = meterOver(1_000, { figures: NO_FIGURES })
  await unreported.admit(text(' word'))
  assert.equal((await unreported.conclude('whole')).hasHidden, undefined, 'nobody has said anything')
})

test('an answer counts as the model counts its script; how it counts an unknown one, only its provider knows', async () => {
  const georgian = 'გამარჯობა მსოფლიო '
  const known = meterOver(1_000, { ratioOf: (script) => (script === 'plain' ? undefined : 4) })
  const unknown = meterOver(1_000)
  for (const { meter } of [known, unknown]) await meter.admit(text(georgian))
  assert.equal(known.meter.isInTheDark(), false)
  assert.equal(unknown.meter.isInTheDark(), true)
  const ours = (await unknown.meter.conclude('cancelled')).usage.output
  assert.equal((await known.meter.conclude('cancelled')).usage.output, 4 * ours)
  unknown.meter.report({ ...NO_USAGE, input: 10, output: 4 * ours }, false)
  assert.equal(unknown.meter.isInTheDark(), false)
  const plain = meterOver(1_000)
  await plain.meter.admit(text('hello world'))
  assert.equal(plain.meter.isInTheDark(), false)
})

test('a tool call is counted with its name, and is the answer from its first chunk on', async () => {
  const { meter } = meterOver(100)
  assert.equal(meter.isStarted(), false)
  await meter.admit({ type: 'tool_call', index: 0, id: 'call_1', name: 'look up the word', arguments: '' })
  assert.equal(meter.isStarted(), true)
  await meter.admit({ type: 'tool_call', index: 0, id: undefined, name: undefined, arguments: ' word word' })
  assert.equal((await meter.conclude('cancelled')).usage.output, 6)
})

test('a hold that was used up is all charged: the provider was writing on', async () => {
  const { meter, hold } = meterOver(10)
  for (let i = 0; i < 8; i++) await meter.admit(text(' word'))
  const held = worth({ output: hold.tokens })
  const used = await meter.conclude('used up')
  assert.equal(billFor({ outcome: 'hold_used_up', used, held }, PRICE).charge, held)
})

test('who cancels a model that thinks unseen pays for what was set aside, unless it is known how far it was', async () => {
  const hiding = { isHiding: true, isBounded: true, figures: { ...NO_FIGURES, reasoning: 50 } }
  const unknown = meterOver(100, hiding)
  await unknown.meter.admit(text(' word'))
  assert.ok(unknown.meter.isInTheDark())
  const { usage } = await unknown.meter.conclude('cancelled')
  // 99 tokens of answer are left of the hold. Thoughts are dearer: 79 of them.
  assert.deepEqual(usage, { ...NO_USAGE, input: 10, output: 1, reasoning: 79 })

  const told = meterOver(100, hiding)
  await told.meter.admit(text(' word'))
  told.meter.report({ ...NO_USAGE, input: 10, output: 1, reasoning: 7 }, true)
  assert.equal(told.meter.isInTheDark(), false)
  assert.deepEqual((await told.meter.conclude('cancelled')).usage, { ...NO_USAGE, input: 10, output: 1, reasoning: 7 })

  const broken = meterOver(100, hiding)
  await broken.meter.admit(text(' word'))
  assert.equal((await broken.meter.conclude('cut')).usage.reasoning, 0, 'nobody cancelled it')
})

test('thoughts that were shown after a report of them are added to it, and those before are not', async () => {
  const { meter } = meterOver(1_000, { figures: NO_FIGURES })
  await meter.admit({ type: 'reasoning', text: ' one two' })
  meter.report({ ...NO_USAGE, input: 12, output: 0, reasoning: 2 }, true)
  await meter.admit({ type: 'reasoning', text: ' three four five' })
  await meter.admit(text(' word'))
  assert.deepEqual((await meter.conclude('cancelled')).usage, { ...NO_USAGE, input: 12, output: 1, reasoning: 5 })
})

const MEDIA: MeteredPrompt = { ...PROMPT, isUnknown: true, count: async (media) => (media === 'held' ? 900 : 300) }

test('an image that its provider has not counted costs the most for who cancelled it, and else what is usual', async () => {
  for (const [end, input] of [
    ['cancelled', 900],
    ['whole', 300],
  ] as const) {
    const { meter } = meterOver(100, { prompt: MEDIA })
    await meter.admit(text(' word'))
    assert.equal((await meter.conclude(end)).usage.input, input)
  }
})

test('what images and files come to is unknown until their provider says it', () => {
  const { meter } = meterOver(100, { prompt: MEDIA })
  assert.ok(meter.isInTheDark())
  meter.report({ ...NO_USAGE, input: 900, output: 1 }, true)
  assert.equal(meter.isInTheDark(), false)
})

test('a report so far that cannot be right is flagged; one that knows nothing of the answer yet is not', async () => {
  for (const [usage, anomalies] of [
    [{ ...NO_USAGE, input: 12 }, []],
    [{ ...NO_USAGE, input: 5_000 }, ['prompt_too_large']],
  ] as const) {
    const { meter } = meterOver(10_000)
    meter.report(usage, true)
    await meter.admit(text(' word'))
    assert.deepEqual((await meter.conclude('cancelled')).anomalies, anomalies)
  }
})

test('a report that takes back what was reported before is flagged, and the last one rules', async () => {
  const { meter } = meterOver(100)
  await meter.admit(text(' word'))
  meter.report({ ...NO_USAGE, input: 90, output: 1 }, true)
  meter.report({ ...NO_USAGE, input: 12, output: 1 }, false)
  const { usage, anomalies } = await meter.conclude('whole')
  assert.deepEqual([usage.input, anomalies], [12, ['falling']])
})

test('the first conclusion is the last: whoever asks again is told the same', async () => {
  const { meter } = meterOver(100)
  await meter.admit(text(' word'))
  const first = await meter.conclude('whole')
  meter.report({ ...NO_USAGE, input: 1, output: 1 }, false)
  assert.equal(await meter.conclude('cancelled'), first)
})

test('vectors add nothing to what the prompt costs: no hold grows for them, and a report that is missing is not odd', async () => {
  const price = { ...PRICE, output: 0n, reasoning: 0n }
  const held = () => costOf({ ...NO_USAGE, input: PROMPT.tokens }, price)
  const { meter, hold } = meterOver(0, { price, held, isReportDue: false })
  assert.equal(meter.isStarted(), false)
  for (let index = 0; index < 100; index++) {
    assert.equal(await meter.admit({ type: 'embedding', index, vector: 'AAAAAAAAAAAA' }), true)
    assert.equal(await meter.hasRoom(), true)
  }
  assert.equal(meter.isStarted(), true)
  assert.equal(hold.extensions, 0)
  const { usage, source, anomalies } = await meter.conclude('whole')
  assert.deepEqual([usage, source, anomalies], [{ ...NO_USAGE, input: 10 }, 'estimated', []])
})
