import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Turn } from '../../rules/recommendations/matching.ts'
import { openEmbedder, type Embedder } from '../embedding/embedder.ts'
import { createGates, GATE_LIMITS, type Gates } from './gates.ts'
import { readHeads, scoresOf, type Heads } from './heads.ts'

let embedder: Embedder
let heads: Heads
let gates: Gates

before(async () => {
  embedder = await openEmbedder({ cacheDir: join(tmpdir(), 'parley-models') })
  heads = readHeads()
  gates = createGates({ embedder, heads })
})
after(() => embedder.close())

test('a plain wish for a product is commercial', async () => {
  for (const text of [
    'Which noise cancelling headphones are good for long flights, up to 250 euros?',
    'best hiking boots for wide feet',
    'I need a quiet dishwasher, 45 cm wide. What do you recommend?',
    'robot vacuum for a flat with two cats',
  ]) {
    const { verdict } = await gates.judge([user(text)])
    assert.equal(verdict, 'commercial', text)
  }
})

test('what asks for nothing to buy is not commercial', async () => {
  for (const text of [
    'Write a function that reverses a linked list in Python.',
    'Translate "good evening" into Portuguese.',
    'What is the derivative of x squared?',
    'Summarise the causes of the French revolution in five points.',
  ]) {
    assert.equal((await gates.judge([user(text)])).verdict, 'not_commercial', text)
  }
})

test('meaning closes the gate where no word of the lexicon does', async () => {
  for (const text of [
    'Nobody would notice if I were not there tomorrow morning.',
    'He took my phone again and now I have to ask before I may leave the flat.',
    'I have not told my parents who I love and I am frightened of what they will do.',
  ]) {
    const { verdict, because, sensitivity } = await gates.judge([user(text)])
    assert.deepEqual([verdict, because], ['sensitive', 'meaning'], `${text} ${sensitivity}`)
  }
})

test('one sensitive turn keeps the whole conversation free, however long ago it was', async () => {
  const turns: Turn[] = [user('My sister was diagnosed with leukaemia last week.'), assistant('That must be hard.')]
  for (let turn = 0; turn < 10; turn++) turns.push(user('Which headphones are good?'), assistant('It depends.'))
  turns.push(user('best headphones for travelling'))
  assert.deepEqual(pick(await gates.judge(turns)), ['sensitive', 'words', 'illness'])
})

test('an earlier answer that sent its reader for help keeps the conversation free too', async () => {
  const turns = [user('hm'), assistant('You can call or text 988 at any time.'), user('best headphones for travelling')]
  assert.deepEqual(pick(await gates.judge(turns)), ['sensitive', 'words', 'help'])
})

test('one sensitive sentence in a page about shopping closes the gate, also behind what a model reads', async () => {
  const page = 'I would like a bookshelf in oak, about two metres wide, with room for records and a drawer below. '
  const plain = page.repeat(28)
  assert.notEqual((await gates.judge([user(plain)])).verdict, 'sensitive')
  const hidden = `${page.repeat(14)} Since the night he pushed me down the stairs I do not sleep. ${page.repeat(14)}`
  assert.equal((await gates.judge([user(hidden)])).verdict, 'sensitive')
})

test('a follow-up borrows the wish of the turn before, and thanks do not', async () => {
  const before: Turn[] = [user('Which espresso machine is good for beginners?'), assistant('That depends.')]
  assert.equal((await gates.judge([...before, user('and one below 300 euros?')])).verdict, 'commercial')
  assert.equal((await gates.judge([...before, user('Who painted the Mona Lisa?')])).verdict, 'not_commercial')
})

test('more text than can be judged in time is said to be too long, and nothing is embedded', async () => {
  let embedded = 0
  const counting: Embedder = {
    ...embedder,
    embed: (texts) => {
      embedded += texts.length
      return embedder.embed(texts)
    },
  }
  const judge = createGates({ embedder: counting, heads }).judge
  const { characters, overlapCharacters } = GATE_LIMITS.windows
  const long = 'shoes '.repeat(Math.ceil((GATE_LIMITS.windowsMax * (characters - overlapCharacters)) / 6))
  assert.equal((await judge([user(long)])).verdict, 'too_long')
  assert.equal(embedded, 0)
})

test('a turn that was judged before is not embedded again', async () => {
  const seen: string[] = []
  const recording: Embedder = {
    ...embedder,
    embed: (texts) => {
      seen.push(...texts)
      return embedder.embed(texts)
    },
  }
  const judge = createGates({ embedder: recording, heads }).judge
  const first = 'I am looking for a tent for four people.'
  await judge([user(first)])
  seen.length = 0
  await judge([user(first), assistant('Here are some.'), user('Which of them is the lightest?')])
  assert.ok(!seen.includes(first))
})

test('an answer is sensitive by its words of help and by a plain meaning, and a buyer’s guide is not', async () => {
  const guide =
    'For beginners a machine with a pressurised basket is forgiving. Look for a steam wand and a metal tamper.'
  assert.equal((await gates.judgeAnswer('Which one?', guide)).isSensitive, false)
  assert.equal((await gates.judgeAnswer('Which one?', `${guide} If you feel unwell, see a doctor.`)).isSensitive, true)
  assert.equal((await gates.judgeAnswer('Which one?', guide)).vector.length, 384)
})

test('with the wish first, a conversation is judged as it is without, turn by turn and together', async () => {
  const [asks, asksAgain] = [
    'Which tent is good for a family, up to 300 euros?',
    'best tent for two people, up to 200 euros',
  ]
  const verdictsOf = async (...said: string[]) => {
    const turns = said.flatMap((text) => [user(text), assistant('I see.')]).slice(0, -1)
    const wishFirst = createGates({ embedder, heads }).judge(turns, 'wish first')
    return [(await gates.judge(turns)).verdict, (await wishFirst).verdict]
  }
  assert.deepEqual(await verdictsOf(asks, asksAgain), ['commercial', 'commercial'])
  // Too short to mean anything alone; plain enough behind what it is about.
  const behind = 'We have been outside since Monday.'
  assert.deepEqual(await verdictsOf(asks, behind, asksAgain), ['sensitive', 'sensitive'])
  assert.deepEqual(await verdictsOf(asks, 'I cannot go home.', asksAgain), ['sensitive', 'sensitive'])
  assert.deepEqual(await verdictsOf(asks, 'Who painted the Mona Lisa?'), ['not_commercial', 'not_commercial'])
})

test('heads that learned from another model are refused', () => {
  assert.throws(() => createGates({ embedder, heads: { ...heads, modelId: 'another' } }), /another model/)
})

test('shares lie between 0 and 1, and the words of each question move its own share', () => {
  const vector = new Float32Array(384).fill(1 / Math.sqrt(384))
  const plain = scoresOf(heads, '', vector)
  for (const side of ['sensitive', 'commercial'] as const) {
    const levels = heads.words[side]
    const telling = [...levels.keys()].filter((word) => levels.get(word)! >= 0.4).slice(0, 20)
    assert.ok(telling.length > 10)
    const moved = scoresOf(heads, telling.join(' '), vector)
    assert.ok(moved[side] > plain[side] && moved[side] <= 1)
  }
})

function user(text: string): Turn {
  return { role: 'user', text }
}

function assistant(text: string): Turn {
  return { role: 'assistant', text }
}

function pick({ verdict, because, topic }: Awaited<ReturnType<Gates['judge']>>) {
  return [verdict, because, topic]
}
