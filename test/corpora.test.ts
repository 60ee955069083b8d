import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { CHECKS } from './corpora/checks.ts'
import { DEVIATIONS, removeField } from './corpora/deviations.ts'
import { refusalOf, REFUSALS } from './corpora/refusals.ts'
import { REQUESTS, type Fields } from './corpora/requests.ts'
import { createSender } from './corpora/sent.ts'
import { TARGETS, type Target } from './corpora/targets.ts'
import { typeErrorsIn, type TypedBody } from './corpora/sdk-types.ts'

/**
 * Callers' requests, as each provider would get them. No provider is asked: the types of their SDKs and lists of what they
 * are known to refuse stand in for them.
 */

interface Sent {
  title: string
  target: Target
  body: Fields
}

const BODIES_MIN = 40
const sent: Sent[] = []
const misjudged: string[] = []

before(async () => {
  for (const target of TARGETS) {
    const send = createSender(target)
    for (const [name, fields] of Object.entries(REQUESTS)) {
      const title = `${target.name}: ${name}`
      const outcome = await send(fields)
      if ('body' in outcome) sent.push({ title, target, body: outcome.body })
      const refused = 'refused' in outcome ? outcome.refused : undefined
      const expected = refusalOf(name, fields, target)
      if (refused !== expected) misjudged.push(`${title}: ${refused ?? 'sent'}, expected ${expected ?? 'to be sent'}`)
    }
  }
})

test('each request is sent, or refused for the field that the list names', () => {
  assert.deepEqual(misjudged, [])
  for (const name of Object.keys(REFUSALS)) assert.ok(Object.hasOwn(REQUESTS, name), `there is no request "${name}"`)
})

test('every target gets a corpus that is worth the name', () => {
  for (const target of TARGETS) {
    const count = sent.filter((one) => one.target === target).length
    assert.ok(count >= BODIES_MIN, `${target.name} is sent only ${count} requests`)
  }
})

/** One that the types allow, and others that they do not: a compiler that says nothing has to be noticed. */
const SAMPLES: TypedBody[] = [
  { title: 'good', type: 'gemini', body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] } },
  { title: 'bad: a', type: 'openai', body: { model: 'm', stream: true, messages: [], top_k: 1 } },
  { title: 'bad: b', type: 'anthropic', body: { model: 'm', max_tokens: 1, stream: true, messages: [], seed: 1 } },
  { title: 'bad: c', type: 'gemini', body: { contents: [], generationConfig: { mediaResolution: 'SOME' } } },
  { title: 'bad: d', type: 'gemini', body: { contents: [{ role: 'user', parts: [{ words: 'Hi' }] }] } },
  { title: 'bad: e', type: 'converse', body: { messages: [{ role: 'user', content: [{ text: 'Hi', image: {} }] }] } },
  { title: 'bad: f', type: 'converse', body: { inferenceConfig: { topK: 1 } } },
]

test('what is sent has the types of the provider’s own SDK, and nothing that they do not have', async () => {
  const unused = new Set(DEVIATIONS)
  const bodies = new Map<string, TypedBody>()
  for (const { title, target, body } of sent) {
    const typed = structuredClone(body)
    for (const deviation of DEVIATIONS) {
      if (deviation.about(target) && removeField(typed, deviation.path)) unused.delete(deviation)
    }
    // Models have many names, and the same body need not be read twice.
    const { model: _, ...rest } = typed
    bodies.set(`${target.type} ${JSON.stringify(rest)}`, { title, type: target.type, body: typed })
  }
  const errors = await typeErrorsIn([...bodies.values(), ...SAMPLES])
  const isOfSample = (error: string) => error.startsWith('bad: ')
  assert.deepEqual(
    errors.filter((error) => !isOfSample(error)),
    [],
  )
  const noticed = new Set(errors.filter(isOfSample).map((error) => error.slice(0, 'bad: a'.length)))
  assert.deepEqual(
    [...noticed],
    SAMPLES.slice(1).map(({ title }) => title),
  )
  assert.deepEqual([...unused], [], 'deviations that nothing needs')
})

describe('nothing is sent that a provider is known to refuse', () => {
  for (const { title, about, finds, bad } of CHECKS) {
    test(`${title} (${TARGETS.find(about)?.type})`, () => {
      assert.ok(bad.length > 0 && bad.every(finds), 'what is bad is found')
      const judged = sent.filter(({ target }) => about(target))
      assert.ok(judged.length > 0, 'it is about something that is sent')
      assert.deepEqual(
        judged.filter(({ body }) => finds(body)).map((one) => one.title),
        [],
      )
    })
  }
})
