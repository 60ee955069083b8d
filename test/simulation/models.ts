import { NO_FIGURES } from '../../src/rules/catalogue/figures.ts'
import { UPSTREAM_TIMERS } from '../../src/rules/limits.ts'
import type { Price } from '../../src/rules/billing/pricing.ts'
import type { Deployment, Model } from '../../src/rules/upstreams/routing.ts'

/** The models of the simulation: an ordinary one, one that thinks unseen and dearly, one that is brief, and one that is
 * free. */
const ORDINARY: Price = {
  version: 1n,
  input: 150_000_000n,
  cachedInput: 75_000_000n,
  cacheWrite: 190_000_000n,
  output: 600_000_000n,
  reasoning: 600_000_000n,
}
const FREE: Price = { version: 4n, input: 0n, cachedInput: 0n, cacheWrite: 0n, output: 0n, reasoning: 0n }

/** The most tokens that the model that thinks unseen may think. */
export const HIDDEN_TOKENS_MAX = 300

const MODELS: readonly Model[] = [
  modelOf('ordinary', ORDINARY, 4_096),
  modelOf('thinking', { ...ORDINARY, version: 2n, reasoning: 1_700_000_000n }, undefined, HIDDEN_TOKENS_MAX),
  modelOf('brief', { ...ORDINARY, version: 3n, output: 333_333_333n }, 60),
  modelOf('free', FREE, 4_096),
]

export const MODEL_IDS = MODELS.map(({ id }) => id)

export function modelBy(id: string): Model & { price: Price } {
  const model = MODELS.find((known) => known.id === id)
  const price = model?.prices[0]
  if (!model || !price) throw new Error(`there is no model ${id}`)
  return { ...model, price }
}

function modelOf(id: string, price: Price, maxOutputTokens: number | undefined, reasoning = 0): Model {
  const createdAt = new Date(0)
  return {
    id,
    kind: 'chat',
    ownedBy: 'simulation',
    createdAt,
    contextWindow: 128_000,
    maxOutputTokens,
    figures: { ...NO_FIGURES, reasoning },
    prices: [{ ...price, effectiveFrom: createdAt }],
    deployments: [deploymentOf(1), deploymentOf(2), deploymentOf(3)],
  }
}

function deploymentOf(n: number): Deployment {
  return {
    id: `deployment ${n}`,
    providerId: `provider ${n}`,
    upstreamModel: 'scripted',
    group: n,
    weight: 100,
    extraBody: undefined,
    unsupportedFields: new Set(),
    timers: UPSTREAM_TIMERS,
    cost: undefined,
  }
}
