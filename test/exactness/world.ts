import type { SimulatedCall } from '../../simulator/calls.ts'
import type { Price } from '../../src/rules/billing/pricing.ts'
import { ADAPTERS } from '../faults/adapters.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { auditOf } from '../support/ledger.ts'
import type { Store } from '../../src/store/database.ts'
import { addModel, addProject, addProvider, createWorld, credit, until, type TestProject } from '../support/world.ts'

/** A gateway before a simulated provider that counts and bills as a real one does. */
export interface ExactWorld {
  readonly url: string
  readonly project: TestProject
  /** A project with exactly this credit. */
  projectWith(funds: bigint): Promise<TestProject>
  /** Returns the provider's record of the calls with this mark. */
  callsOf(mark: string): readonly SimulatedCall[]
  /** Returns the charges for each mark, with their reasons. */
  chargesByMark(): Promise<Map<string, Charge[]>>
  /** Resolves when nothing runs any more, at the provider or in the ledger. */
  idle(): Promise<void>
  audit(): Promise<string[]>
  close(): Promise<void>
}

export interface Charge {
  charged: bigint
  held: bigint
  outcome: string
  source: string
}

/** Each class has a price of its own, so that a token in the wrong one shows. */
export const PRICE: Omit<Price, 'version'> = {
  input: 1_000_000_000n,
  cachedInput: 300_000_000n,
  cacheWrite: 1_250_000_000n,
  output: 4_000_000_000n,
  reasoning: 5_000_000_000n,
}

/** The figures that the catalogue has for the simulated models: the most that the simulator bills. */
export const IMAGE_TOKENS = 1_105
export const FILE_TOKENS = 30_000
export const HIDDEN_TOKENS_MAX = 20_000
/** Shorter than a slow reader takes, and several times what a busy machine needs to write the longest answer. */
export const SHORT_TOTAL_MS = 18_000

const FIGURES = { image: IMAGE_TOKENS, file: FILE_TOKENS, tool: 0, reasoning: 0 }

export async function openWorld(): Promise<ExactWorld> {
  const calls = new Map<string, SimulatedCall[]>()
  const onCall = (call: SimulatedCall) => {
    const mark = call.mark ?? ''
    calls.set(mark, [...(calls.get(mark) ?? []), call])
  }
  const world = await createWorld({ onCall })
  const { store, secrets, simulator } = world
  for (const { kind, basePath, apiKey, settings } of ADAPTERS) {
    const more = kind === 'openai-compatible' ? { readsFiles: true } : {}
    const url = `${simulator.url}${basePath}`
    await addProvider(store, secrets, kind, url, { kind, apiKey, settings: { ...settings, ...more } })
  }
  const models = await addModels(store)
  const project = await addProject(store, secrets, { credits: '1000000' })
  // In a process of its own: what the simulator and the callers do must not be in its way.
  const gateway = await startGatewayProcess(world.env)
  await until(async () => {
    const response = await fetch(`${gateway.url}/v1/models`, { headers: project.headers })
    const text = await response.text()
    return models.every((id) => text.includes(`"${id}"`))
  })
  for (const model of ['unsaid', 'untold']) await finishCall(gateway.url, project, model)
  return {
    url: gateway.url,
    project,
    async projectWith(funds) {
      const poor = await addProject(store, secrets, { credits: '0' })
      await credit(store, poor.id, funds)
      return poor
    },
    callsOf: (mark) => calls.get(mark) ?? [],
    async chargesByMark() {
      const rows = await store.db
        .selectFrom('calls as k')
        .innerJoin('charges as c', 'c.id', 'k.id')
        .leftJoin('call_metadata as m', (join) => join.onRef('m.call_id', '=', 'k.id').on('m.key', '=', 'mark'))
        .select(({ fn }) => fn.coalesce('k.conversation_id', 'm.value').as('mark'))
        .select(['c.charged_nanos as charged', 'c.held_nanos as held'])
        .select(['c.outcome', 'c.usage_source as source'])
        .execute()
      return Map.groupBy(rows, ({ mark }) => String(mark))
    },
    async idle() {
      await until(() => simulator.openCalls() === 0, 90_000)
      const open = () => store.db.selectFrom('holds').select('id').limit(1).execute()
      await until(async () => (await open()).length === 0, 90_000)
      // Metadata is written when the charge is, out of its way.
      const unnamed = () =>
        store.db
          .selectFrom('calls as k')
          .leftJoin('call_metadata as m', 'm.call_id', 'k.id')
          .select('k.id')
          .where('k.endpoint', '=', 'embeddings')
          .where('m.key', 'is', null)
          .limit(1)
          .execute()
      await until(async () => (await unnamed()).length === 0, 90_000)
    },
    audit: () => auditOf(store),
    async close() {
      await gateway.kill('SIGTERM')
      await world.close()
    },
  }
}

/** Somebody has finished a call before, so it is known how the model reports its thoughts. */
async function finishCall(url: string, project: TestProject, model: string): Promise<void> {
  const content = `Think. [[sim tokens=3 reasoning=300 ${model === 'untold' ? 'untold' : ''}]]`
  const body = JSON.stringify({ model, messages: [{ role: 'user', content }] })
  const headers = { ...project.headers, 'content-type': 'application/json' }
  await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).text()
}

async function addModels(store: Store): Promise<string[]> {
  const shared = { price: PRICE, contextWindow: 1_000_000, maxOutputTokens: 100_000 }
  const models = [
    { id: 'plain', provider: 'openai-compatible', figures: FIGURES },
    { id: 'narrow', provider: 'openai-compatible', figures: FIGURES, contextWindow: 3_000 },
    { id: 'hiding', provider: 'openai-compatible', figures: { ...FIGURES, reasoning: HIDDEN_TOKENS_MAX } },
    { id: 'hiding-gemini', provider: 'gemini', figures: { ...FIGURES, reasoning: HIDDEN_TOKENS_MAX } },
    { id: 'unsaid', provider: 'openai-compatible' },
    { id: 'untold', provider: 'openai-compatible' },
    { id: 'foreign', provider: 'openai-compatible', figures: FIGURES },
    { id: 'understated', provider: 'openai-compatible', figures: FIGURES, maxOutputTokens: 50 },
    { id: 'faulty', provider: 'openai-compatible', figures: FIGURES },
    {
      id: 'short-total',
      provider: 'openai-compatible',
      figures: FIGURES,
      deployment: { totalTimeoutMs: SHORT_TOTAL_MS },
    },
    ...['anthropic', 'gemini', 'vertex', 'bedrock'].map((id) => ({ id, provider: id, figures: FIGURES })),
  ]
  for (const model of models) await addModel(store, { ...shared, ...model })
  const vectors = [
    { id: 'vectors', provider: 'openai-compatible' },
    { id: 'vectors-gemini', provider: 'gemini' },
    { id: 'vectors-faulty', provider: 'openai-compatible' },
  ]
  const price = { ...PRICE, output: 0n, reasoning: 0n }
  for (const model of vectors) await addModel(store, { ...shared, ...model, kind: 'embedding', price })
  return [...models, ...vectors].map(({ id }) => id)
}
