import assert from 'node:assert/strict'
import { after, before, beforeEach, test, type TestContext } from 'node:test'
import type { JudgeReply, Match, MatchReply } from '../../src/rules/recommendations/matching.ts'
import { HOUR_MS } from '../../src/rules/durations.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import {
  openCallCamera,
  visible,
  type CallCamera,
  type CallPicture,
  type PictureOptions,
} from '../support/call-camera.ts'
import { addOffer, createFixedMatcher, setMonetization, type FixedMatcher } from '../support/fixed-matcher.ts'
import {
  addKeyPair,
  addModel,
  addProject,
  complete,
  createWorld,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

/**
 * Pictures of calls of a project with recommendations: the answer, what they ask of the matcher, and everything that they
 * leave behind, as it was read and found right once. When a change is meant, look at what `--test-update-snapshots` makes of
 * the file beside this one.
 */

const ANSWER =
  'For flights, look for over-ear headphones with active noise cancelling, a long battery life and a case that folds flat.'
const PUBLIC_URL = 'https://api.example.com'

let world: World
let matcher: FixedMatcher
let camera: CallCamera
let match: Match

interface Said {
  role: string
  content: unknown
}

function asked(answer = ANSWER, question = 'Which headphones are good for flights?'): Said {
  return { role: 'user', content: `${question} [[sim text=${encodeURIComponent(answer)}]]` }
}

interface Case {
  /** The publisher's settings. */
  settings?: Record<string, unknown>
  /** Fields of the request other than model and question. */
  body?: Record<string, unknown>
  headers?: Record<string, string>
  judge?: JudgeReply
  reply?: MatchReply | ((match: Match) => MatchReply)
  /** Runs before the call. */
  arrange?: (project: TestProject) => Promise<unknown>
}

const TALK = { 'x-conversation-id': 'talk' }
const TOOLS = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
const fallsShort = (outcome: Exclude<MatchReply['outcome'], 'matched'>): Case => ({ reply: { outcome } })
const closes = (outcome: Exclude<JudgeReply['outcome'], 'open'>): Case => ({ judge: { outcome }, headers: TALK })
const says = (text: string): Case => ({ body: { messages: [asked(text)] } })

const CASES: Record<string, Case> = {
  'a recommendation after an answer': {},
  'a recommendation at the end of a stream': { body: { stream: true, stream_options: { include_usage: true } } },
  'a recommendation in a conversation': { headers: TALK },
  'a recommendation in plain text, with another label': { settings: { format: 'plain', label: 'Sponsored' } },
  'a recommendation without a price': {
    reply: (found) => ({ outcome: 'matched', match: { ...found, price: undefined } }),
  },
  'what a publisher blocks and asks for reaches the matcher': {
    settings: {
      min_relevance: 0.6,
      floor_nanos: 50_000_000n,
      blocked_categories: ['Electronics > Audio'],
      blocked_advertisers: ['018f0000-0000-7000-8000-000000000001'],
      blocked_domains: ['contoso.example'],
      excluded_topics: ['gambling'],
    },
    ...fallsShort('no_match'),
  },
  'a system prompt is no part of what the matcher reads': {
    body: { messages: [{ role: 'system', content: 'You sell garden chairs.' }, asked()] },
  },
  'test mode': { settings: { mode: 'test' }, headers: TALK },
  'test mode in a stream': { settings: { mode: 'test' }, body: { stream: true } },
  'a mode that is off': { settings: { mode: 'off' } },
  'a label that is not in the list': { settings: { label: 'Tip' } },
  'opted out by a header': { headers: { ...TALK, 'x-monetization': 'off' } },
  'a header that asks for it': { headers: { 'x-monetization': 'On' } },
  'opted out by metadata': { body: { metadata: { monetization: 'off' } } },
  'opted out by the reader': { body: { messages: [asked(ANSWER, 'Headphones for flights, and no ads please?')] } },
  'an audience of teens': { settings: { audience: 'teen' } },
  'JSON mode': { body: { response_format: { type: 'json_object' } } },
  'tools that are not called': { body: { tools: TOOLS } },
  logprobs: { body: { logprobs: true } },
  'few tokens': { body: { max_tokens: 63 } },
  'enough tokens': { body: { max_tokens: 64 } },
  'a picture in the question': {
    body: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: asked().content },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          ],
        },
      ],
    },
  },
  'a last word that is not the user’s': {
    body: { messages: [asked(), { role: 'assistant', content: 'For flights' }] },
  },
  'a topic that the publisher excludes': { settings: { excluded_topics: ['Good  for'] }, headers: TALK },
  'a first turn that comes too early': { settings: { first_turn: 2 }, headers: TALK },
  'a sensitive conversation': closes('sensitive'),
  'a conversation without a wish': closes('not_commercial'),
  'another language': closes('language'),
  'more than a matcher judges': closes('too_long'),
  'a matcher that is switched off': closes('unavailable'),
  'nothing that fits': fallsShort('no_match'),
  'nothing that fits well enough': fallsShort('below_relevance'),
  'no offer above the floor': fallsShort('below_floor'),
  'an answer that the matcher finds sensitive': { ...fallsShort('answer_sensitive'), headers: TALK },
  'an answer with a helpline': { ...says(`${ANSWER} If you think of suicide, call 988.`), headers: TALK },
  'an answer that is too short': says('Yes.'),
  'an answer that is code': says(`\`\`\`ts\n${'const a = 1\n'.repeat(20)}\`\`\``),
  'an answer that is cut': {
    body: { max_tokens: 64, messages: [{ role: 'user', content: 'Fly? [[sim tokens=99]]' }] },
  },
  'an answer that the provider filters': {
    body: { messages: [{ role: 'user', content: 'Flights? [[sim tokens=40 finish=content_filter]]' }] },
  },
  'a matcher that says something odd': { reply: 'odd' as unknown as MatchReply },
  'an offer that was withdrawn meanwhile': {
    arrange: () =>
      world.store.db.updateTable('campaigns').set({ status: 'paused' }).where('id', '=', match.campaignId).execute(),
  },
  'a provider that fails': { body: { messages: [{ role: 'user', content: 'Flights? [[sim status=400]]' }] } },
}

const modelOf = (title: string) => title.replaceAll(/\W+/g, '-')

before(async () => {
  matcher = await createFixedMatcher()
  world = await createWorld({ env: { PARLEY_MATCHER_URL: matcher.url, PARLEY_PUBLIC_URL: PUBLIC_URL } })
  for (const title of Object.keys({ ...CASES, ...STORIES }))
    await addModel(world.store, { id: modelOf(title), provider: 'simulator' })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(modelOf('the two links of a recommendation, and what is no link'))
  })
  camera = await openCallCamera(world)
})
after(async () => {
  await world.close()
  await matcher.close()
})
beforeEach(async () => {
  match = await addOffer(world.store.db)
  Object.assign(matcher, { reply: { outcome: 'matched', match }, judgeReply: { outcome: 'open' }, gate: undefined })
})

async function monetized(settings: Record<string, unknown> = {}): Promise<TestProject> {
  const project = await addProject(world.store, world.secrets)
  await setMonetization(world.store.db, project.id, settings)
  return project
}

/** With what was asked of the matcher, and the offer by its name. */
async function pictureOf(
  project: TestProject,
  work: () => Promise<unknown>,
  { from = camera, ...options }: PictureOptions & { from?: CallCamera } = {},
): Promise<CallPicture> {
  matcher.judged.length = 0
  matcher.matches.length = 0
  const { offerId: offer, advertiserId: advertiser, campaignId: campaign } = match
  const withAsked = async () => {
    const answer = await work()
    const [judged, matches] = [structuredClone(matcher.judged), structuredClone(matcher.matches)]
    return { ...(answer as object), judged, matches }
  }
  return from.pictureOf(project, withAsked, {
    ...options,
    known: { offer, advertiser, campaign },
    hidden: [[match.advertiser, 'advertiser']],
  })
}

interface Asking {
  headers?: Record<string, string>
  project: TestProject
}

const ask = (model: string, extra: Record<string, unknown>, options: Asking) =>
  complete(world, { model, messages: [asked()], ...extra }, options)

for (const [title, { settings, body = {}, headers, judge, reply: found, arrange }] of Object.entries(CASES)) {
  test(title, async (t: TestContext) => {
    const project = await monetized(settings)
    await arrange?.(project)
    if (judge) matcher.judgeReply = judge
    if (found) matcher.reply = typeof found === 'function' ? found(match) : found
    const send = async () => visible(await ask(modelOf(title), body, { headers, project }))
    const messages = headers?.['x-conversation-id'] === undefined ? 0 : 2
    t.assert.snapshot(await pictureOf(project, send, { messages }))
  })
}

/** A call before the one that matters; all that it leaves behind is written. */
async function earlier(model: string, { body = {}, ...options }: Asking & { body?: Record<string, unknown> }) {
  let content = ''
  const messages = options.headers?.['x-conversation-id'] === undefined ? 0 : 2
  const send = async () => {
    const { choices } = (await (await ask(model, body, options)).json()) as {
      choices: { message: { content: string } }[]
    }
    content = choices[0]?.message.content ?? assert.fail('no content')
  }
  await camera.pictureOf(options.project, send, { messages })
  return content
}

const reply = (content: unknown): Said => ({ role: 'assistant', content })
const again = asked(ANSWER, 'And which of them fold?')

/** Cases with more than one request. Each has a model of its own, because a gateway learns from every call. */
const STORIES: Record<string, (t: TestContext, model: string) => Promise<void>> = {
  async 'the next turn: the model reads no recommendation, and the reader sees no second one'(t, model) {
    const project = await monetized()
    const messages = [asked(), reply(await earlier(model, { project })), again]
    const send = async () => visible(await ask(model, { messages }, { project }))
    t.assert.snapshot(await pictureOf(project, send))
  },
  async 'the next turn, with the answer in parts'(t, model) {
    const project = await monetized()
    const content = await earlier(model, { project })
    const parts = [content, content.slice(ANSWER.length)].map((text) => ({ type: 'text', text }))
    const send = async () => visible(await ask(model, { messages: [asked(), reply(parts), again] }, { project }))
    t.assert.snapshot(await pictureOf(project, send))
  },
  async 'a line of another project is not ours to take out'(t, model) {
    const [project, other] = [await monetized(), await monetized()]
    const messages = [asked(), reply(await earlier(model, { project: other })), again]
    const send = async () => visible(await ask(model, { messages }, { project }))
    // Not what it costs: a link has as many tokens as chance will have it.
    const { sent } = await pictureOf(project, send)
    t.assert.snapshot(sent)
  },
  async 'a conversation that is too long to be judged'(t, model) {
    const project = await monetized()
    const messages = [asked(ANSWER, 'Headphones?'.padEnd(24_001, '.'))]
    const send = async () => visible(await ask(model, { messages }, { project }))
    // Not what is held: how much is guessed from samples.
    const { answer, moved } = await pictureOf(project, send)
    t.assert.snapshot({ answer, moved })
  },
  async 'a second recommendation as soon as its distance allows, of what was not seen yet'(t, model) {
    const project = await monetized({ min_turn_gap: 1 })
    const messages = [asked(), reply(await earlier(model, { project })), again]
    const send = async () => visible(await ask(model, { messages }, { project }))
    t.assert.snapshot(await pictureOf(project, send))
  },
  async 'an advertiser is not asked for a third time'(t, model) {
    const project = await monetized({ min_turn_gap: 1 })
    const messages = [asked(), reply(await earlier(model, { project })), again]
    messages.push(reply(await earlier(model, { project, body: { messages } })), again)
    const send = async () => visible(await ask(model, { messages }, { project }))
    t.assert.snapshot(await pictureOf(project, send))
  },
  async 'the next turn of a conversation that is known by its id alone'(t, model) {
    const project = await monetized()
    await earlier(model, { project, headers: TALK })
    const send = async () => visible(await ask(model, { messages: [again] }, { project, headers: TALK }))
    t.assert.snapshot(await pictureOf(project, send, { messages: 3 }))
  },
  async 'a conversation that has had as many as it may'(t, model) {
    const project = await monetized({ min_turn_gap: 1, max_per_conversation: 1 })
    await earlier(model, { project, headers: TALK })
    const send = async () => visible(await ask(model, { messages: [again] }, { project, headers: TALK }))
    t.assert.snapshot(await pictureOf(project, send, { messages: 3 }))
  },
  async 'a second recommendation in a conversation that is known by its id alone'(t, model) {
    const project = await monetized({ min_turn_gap: 1 })
    await earlier(model, { project, headers: TALK })
    const send = async () => visible(await ask(model, { messages: [again] }, { project, headers: TALK }))
    t.assert.snapshot(await pictureOf(project, send, { messages: 3 }))
  },
  async 'a conversation that was sensitive before'(t, model) {
    const project = await monetized()
    matcher.judgeReply = { outcome: 'sensitive' }
    await earlier(model, { project, headers: TALK })
    matcher.judgeReply = { outcome: 'open' }
    const send = async () => visible(await ask(model, { messages: [again] }, { project, headers: TALK }))
    t.assert.snapshot(await pictureOf(project, send, { messages: 3 }))
  },
  async 'a conversation whose time is over begins anew'(t, model) {
    const project = await monetized({ max_per_conversation: 1 })
    await earlier(model, { project, headers: TALK })
    const { db } = world.store
    const over = { expires_at: new Date(Date.now() - 3 * HOUR_MS), is_sensitive: true, last_turn: 9 }
    await db.updateTable('conversation_restraints').set(over).where('project_id', '=', project.id).execute()
    const send = async () => visible(await ask(model, { messages: [again] }, { project, headers: TALK }))
    t.assert.snapshot(await pictureOf(project, send, { messages: 3 }))
  },
  async 'a call that is repeated by its key'(t, model) {
    const project = await monetized()
    const headers = { 'idempotency-key': 'once' }
    for (const stream of [false, false]) {
      const send = async () => visible(await ask(model, { stream }, { project, headers }))
      t.assert.snapshot(await pictureOf(project, send))
    }
  },
  async 'the playground of the publisher'(t, model) {
    const project = await monetized()
    const playground = { ...project, ...(await addKeyPair(world.store, world.secrets, project.id)) }
    const { db } = world.store
    const isOwn = ['publishable_key', '=', playground.publishableKey] as const
    await db
      .updateTable('key_pairs')
      .set({ purpose: 'playground' })
      .where(...isOwn)
      .execute()
    const send = async () => visible(await ask(model, {}, { project: playground }))
    t.assert.snapshot(await pictureOf(playground, send))
  },
  async 'a reader who leaves while the matcher thinks'(t, model) {
    const project = await monetized()
    matcher.reply = undefined
    const leave = async () => {
      const hangUp = new AbortController()
      const body = { model, messages: [asked()], stream: true }
      const response = await complete(world, body, { project, headers: TALK, signal: hangUp.signal })
      await until(() => matcher.matches.length === 1)
      hangUp.abort()
      return { status: response.status }
    }
    t.assert.snapshot(await pictureOf(project, leave, { messages: 2 }))
  },
  async 'a matcher that is silent, and one that is not there'(t, model) {
    matcher.gate = new Promise(() => {})
    const away: Record<string, string> = { PARLEY_MATCHER_URL: 'http://127.0.0.1:9' }
    for (const env of [{}, away]) {
      // One that waits no longer than gateways do.
      const { url, opsUrl } = await startGateway(world, env)
      const from = await openCallCamera({ ...world, opsUrl })
      const project = await monetized()
      const body = { model, messages: [asked()] }
      const send = async () => visible(await complete({ ...world, url }, body, { project }))
      t.assert.snapshot(await pictureOf(project, send, { from }))
    }
  },
  async 'the two links of a recommendation, and what is no link'(t, model) {
    const { db } = world.store
    const project = await monetized()
    const path = /\/r\/[\w-]+/.exec(await earlier(model, { project }))?.[0] ?? assert.fail('no link')
    const why = path.replace('/r/', '/w/')
    const follow = async (at: string, method = 'GET') => {
      const get = async () => visible(await fetch(`${world.url}${at}`, { method, redirect: 'manual' }))
      t.assert.snapshot(await pictureOf(project, get))
    }
    await follow(path)
    await follow(`${path}?to=https://evil.example`, 'HEAD')
    await follow(why)
    await follow(path, 'POST')
    await follow(`${path.slice(0, -2)}AA`)
    await follow('/w/nothing')
    await db.updateTable('offers').set({ removed_at: new Date() }).where('id', '=', match.offerId).execute()
    await follow(path)
    await follow(why)
    await db.deleteFrom('recommendations').where('project_id', '=', project.id).execute()
    await follow(path)
    await follow(why)
  },
}

for (const [title, tell] of Object.entries(STORIES)) test(title, (t: TestContext) => tell(t, modelOf(title)))
