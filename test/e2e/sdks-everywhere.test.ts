import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SimulatedCall } from '../../simulator/calls.ts'
import { signatureOf } from '../../simulator/thinking.ts'
import { PROVIDER_KINDS } from '../../src/providers/create-provider.ts'
import { ERRORS } from '../../src/rules/errors.ts'
import { fieldsIn } from '../../src/rules/record.ts'
import { RESPONSES_SDKS } from '../support/responses-sdks.ts'
import { OPENAI_BY_HAND, SDKS, type Access, type Asked, type Sdk } from '../support/sdks.ts'
import { WIRE_FORMATS, type WireFormat } from '../support/wire-formats.ts'
import { addModel, addProvider, createWorld, until, type World } from '../support/world.ts'

/**
 * The view of the users of each SDK, through each provider's wire format. All of them show `reasoning_content`, in JSON and in
 * streams: `openai` in a field that its types do not have, the AI SDK as `reasoningText`, LangChain in `additional_kwargs`.
 */

const THOUGHTS = 'Let me think about it.'
const INSTRUCTIONS = 'Speak like a pirate.'
const OSLO = { city: 'Oslo', people: 7 }
const ROUNDS = 3
const CALLS_PER_ROUND = 2
/** Google's word for a signature that a caller has not brought back. */
const SIGNATURE_LOST = 'skip_thought_signature_validator'

let world: World
before(async () => {
  world = await createWorld({ hasCaches: true })
  for (const { kind, path, settings = {}, upstreamModel } of WIRE_FORMATS) {
    await addProvider(world.store, world.secrets, kind, `${world.simulator.url}${path}`, { kind, settings })
    await addModel(world.store, { id: kind, provider: kind, upstreamModel })
  }
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"${WIRE_FORMATS.at(-1)?.kind}"`)
  })
})
after(() => world.close())

/** As our quick start shows it. */
function quickStart(more: Record<string, string> = {}): Access {
  return { url: world.url, headers: { ...world.project.headers, 'x-error-format': 'openai', ...more } }
}

/** Returns the calls to the provider while `work` runs. */
async function callsDuring(work: () => Promise<void>): Promise<readonly SimulatedCall[]> {
  const before = world.simulator.calls.length
  await work()
  return world.simulator.calls.slice(before)
}

function askedOf({ kind }: WireFormat, script: string, isStreamed: boolean): Asked {
  return { model: kind, prompt: `Hello [[sim ${script}]]`, isStreamed }
}

function untilRecorded(conversation: string, turns: number): Promise<void> {
  return until(async () => {
    const row = await world.store.db
      .selectFrom('conversations')
      .select('calls')
      .where('id', '=', conversation)
      .executeTakeFirst()
    return row?.calls === turns
  })
}

test('every wire format is tried here', () => {
  const kinds = WIRE_FORMATS.map(({ kind }) => kind)
  assert.deepEqual(kinds.toSorted(), PROVIDER_KINDS.toSorted())
})

for (const format of WIRE_FORMATS) {
  for (const sdk of [...SDKS, ...RESPONSES_SDKS]) {
    const title = `${sdk.name} through ${format.kind}`
    for (const isStreamed of [false, true]) {
      const exactly = `${title}, ${isStreamed ? 'stream' : 'JSON'}`
      testAnswers(exactly, sdk, format, isStreamed)
      testLoop(exactly, sdk, format, isStreamed)
    }
    testObjects(title, sdk, format)
    testCaching(title, sdk, format)
  }
  testLoop(`${OPENAI_BY_HAND.name} through ${format.kind}, stream`, OPENAI_BY_HAND, format, true)
}

function testAnswers(title: string, sdk: Sdk, format: WireFormat, isStreamed: boolean): void {
  test(`${title}: the developer's message arrives as instructions`, async () => {
    const asked = { ...askedOf(format, 'text=Aye', isStreamed), instructions: INSTRUCTIONS }
    const [call, ...more] = await callsDuring(async () => {
      assert.deepEqual(await sdk.ask(quickStart(), asked), { text: 'Aye', reasoning: undefined })
    })
    assert.deepEqual(more, [])
    assert.deepEqual(format.instructionsIn(call?.body), [INSTRUCTIONS])
    if (format.kind === 'openai-compatible')
      assert.equal(fieldsIn((fieldsIn(call?.body).messages as unknown[])[0]).role, sdk.instructionRole)
  })

  test(`${title}: thoughts are shown if they were asked for`, async () => {
    const asked = askedOf(format, `text=Aye thoughts=${encodeURIComponent(THOUGHTS)} asked`, isStreamed)
    const thoughtful = await sdk.ask(quickStart(), { ...asked, effort: 'low' })
    assert.deepEqual(thoughtful, { text: 'Aye', reasoning: THOUGHTS })
    assert.deepEqual(await sdk.ask(quickStart(), asked), { text: 'Aye', reasoning: undefined })
  })

  test(`${title}: an error is shown with our sentence`, async () => {
    await assert.rejects(sdk.ask(quickStart(), askedOf(format, 'status=400', isStreamed)), (error) => {
      assertShown(sdk, error, 502, ERRORS.upstream_failed.message)
      return true
    })
  })

  test(`${title}: both keys in one are enough`, async () => {
    const { publishableKey, secretKey } = world.project
    const access = { url: world.url, headers: {}, apiKey: `${publishableKey}:${secretKey}` }
    assert.equal((await sdk.ask(access, askedOf(format, 'text=Aye', isStreamed))).text, 'Aye')
  })
}

function testLoop(title: string, sdk: Sdk, format: WireFormat, isStreamed: boolean): void {
  test(`${title}: tools are called in parallel, round after round, and each gets its own result`, async () => {
    const script = `tool=look_up calls=${CALLS_PER_ROUND} thoughts=${encodeURIComponent(THOUGHTS)} asked text=Done`
    const ran: string[] = []
    const run = (callId: string) => resultOf(callId, ran.push(callId) - 1)
    const calls = await callsDuring(async () => {
      const text = await sdk.loop(quickStart(), { ...askedOf(format, script, isStreamed), effort: 'low' }, run)
      assert.equal(text, 'Done')
    })
    assert.equal(calls.length, ROUNDS + 1)
    assert.equal(new Set(ran).size, ROUNDS * CALLS_PER_ROUND)
    const last = calls.at(-1)?.body
    assert.deepEqual(
      resultsByCallIn(format, last),
      ran.map((id, n) => ({ id: format.kind === 'vertex' ? undefined : id, result: resultOf(id, n) })),
    )
    const sent = sdk.sendsBack[isStreamed ? 'stream' : 'json']
    const isKept =
      sent.includes('reasoning_signature') && (format.signs === 'calls' || sent.includes('reasoning_content'))
    assert.deepEqual(
      calls.map(({ body }) => format.signaturesIn(body)),
      calls.map((_, n) => signaturesAfter(format, calls.slice(0, n), isKept)),
    )
    // A model that signs its thoughts would refuse the results without them, so then it is not asked to think.
    const thinksOn = isKept || format.signs !== 'thoughts'
    assert.deepEqual(
      calls.map(({ body }) => format.isThinkingAskedIn(body)),
      calls.map((_, n) => n === 0 || thinksOn),
    )
  })
}

/** The result of the n-th call of all. Results of the last round do not make the model call again. */
const resultOf = (id: string, n: number) =>
  `Result for ${id}.${n < CALLS_PER_ROUND * (ROUNDS - 1) ? ' [[sim again]]' : ''}`

/** Some SDKs put the status before the sentence. */
function assertShown(sdk: Sdk, error: unknown, status: number, sentence: string): void {
  const shown = sdk.shown(error)
  assert.equal(shown.status, status)
  assert.equal(shown.message.replace(`${status} `, ''), sentence)
}

/** Each call of a request with its result, which has its id or, where there are none, its place. */
function resultsByCallIn(format: WireFormat, body: unknown) {
  const results = format.resultsIn(body)
  return format.callIdsIn(body).map((id, at) => {
    const result = id === undefined ? results[at] : results.find(({ callId }) => callId === id)
    return { id, result: result?.text }
  })
}

function signaturesAfter({ signs }: WireFormat, answered: readonly SimulatedCall[], isKept: boolean): string[] {
  if (signs === 'nothing') return []
  if (isKept) return answered.map(({ id }) => signatureOf(id))
  return signs === 'calls' ? answered.map(() => SIGNATURE_LOST) : []
}

function testObjects(title: string, sdk: Sdk, format: WireFormat): void {
  const prompt = `A place, as JSON. [[sim text=${encodeURIComponent(JSON.stringify(OSLO))}]]`

  test(`${title}: an object is held to its schema`, async () => {
    const [call] = await callsDuring(async () => {
      assert.deepEqual(await sdk.place(quickStart(), format.kind, prompt, 'schema'), OSLO)
    })
    const { properties, required } = fieldsIn(format.schemaIn(call?.body))
    assert.deepEqual(Object.keys(fieldsIn(properties)), Object.keys(OSLO))
    assert.deepEqual(required, Object.keys(OSLO))
  })

  test(`${title}: any JSON ${format.hasAnyJson ? 'can be asked for' : 'is refused with our sentence'}`, async () => {
    const place = sdk.place(quickStart(), format.kind, prompt, 'any JSON')
    if (format.hasAnyJson) return assert.deepEqual(await place, OSLO)
    return assert.rejects(place, (error) => {
      assertShown(sdk, error, 422, `${sdk.formatField} is not supported by this model.`)
      return true
    })
  })
}

function testCaching(title: string, sdk: Sdk, format: WireFormat): void {
  test(`${title}: what was cached of a conversation's second and third turn is reported`, async () => {
    const conversation = `${sdk.name}-${format.kind}`.replaceAll(/[ ,:]+/g, '-')
    const access = quickStart({ 'x-conversation-id': conversation })
    const instructions = `This is ${conversation}. ${'Be kind, be brief, and name your sources. '.repeat(700)}`
    const reported: number[] = []
    const calls = await callsDuring(async () => {
      const questions = ['One?', 'Two?', 'Three?'].map((question) => `${question} [[sim text=Yes]]`)
      for await (const cached of sdk.converse(access, format.kind, instructions, questions)) {
        reported.push(cached)
        await untilRecorded(conversation, reported.length)
      }
    })
    assert.deepEqual(
      reported.map((tokens) => tokens > 0),
      [1, 2, 3].map((turn) => turn >= format.cachedFromTurn),
    )
    assert.deepEqual(
      reported,
      calls.map(({ bill }) => bill?.cached),
    )
  })
}
