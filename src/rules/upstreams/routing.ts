import type { ModelKind } from '../catalogue/model-kinds.ts'
import type { Figures } from '../catalogue/figures.ts'
import type { UpstreamTimers } from '../limits.ts'
import type { Price } from '../billing/pricing.ts'
import type { PerClass } from '../billing/usage.ts'

/** A public model id and everything a call to it needs to know. */
export interface Model {
  id: string
  kind: ModelKind
  ownedBy: string
  createdAt: Date
  contextWindow: number | undefined
  maxOutputTokens: number | undefined
  figures: Figures
  /** By time, oldest first. */
  prices: readonly (Price & { effectiveFrom: Date })[]
  /** In the order in which they are tried. */
  deployments: readonly Deployment[]
}

/** A model at a provider. */
export interface Deployment {
  id: string
  providerId: string
  upstreamModel: string
  /** Deployments of the same group share calls by weight; the next group is tried when a group has failed. */
  group: number
  weight: number
  unsupportedFields: ReadonlySet<string>
  /** The fields that its requests have on top of what callers ask for. */
  extraBody: Record<string, unknown> | undefined
  timers: UpstreamTimers
  /** The provider's price to the operator, if known. */
  cost: PerClass<bigint> | undefined
}

export function priceAt(model: Model, nowMs: number): Price | undefined {
  return model.prices.findLast((price) => price.effectiveFrom.getTime() <= nowMs)
}

/** A model without a price in force or without a deployment is neither listed nor served. */
export function isServed(model: Model, nowMs: number): boolean {
  return model.deployments.length > 0 && priceAt(model, nowMs) !== undefined
}

export interface UsableDeployments<Field extends string> {
  usable: readonly Deployment[]
  /** A field in the request that none of the deployments can honour, if that is why there is no usable one. */
  unsupported: Field | undefined
}

/** A known field that a deployment cannot honour is never silently dropped: it is not asked. */
export function usableDeploymentsOf<Field extends string>(
  model: Model,
  fields: readonly Field[],
): UsableDeployments<Field> {
  const usable = model.deployments.filter(
    (deployment) => !fields.some((field) => deployment.unsupportedFields.has(field)),
  )
  const unsupported =
    usable.length > 0
      ? undefined
      : fields.find((field) => model.deployments.some((d) => d.unsupportedFields.has(field)))
  return { usable, unsupported }
}

/**
 * The order in which a call tries the deployments of its route: group by group, and within a group by chance, so that each
 * is first as often as its weight says. `chance` gives numbers from 0 to below 1.
 */
export function drawOrder<D extends Pick<Deployment, 'group' | 'weight'>>(
  deployments: readonly D[],
  chance: (deployment: D) => number,
): D[] {
  if (deployments.length < 2) return [...deployments]
  // The smallest of exponentially distributed times is that of a deployment as often as its rate, the weight, says.
  const drawn = deployments.map((deployment) => ({
    deployment,
    at: -Math.log(1 - chance(deployment)) / deployment.weight,
  }))
  drawn.sort((a, b) => a.deployment.group - b.deployment.group || a.at - b.at)
  return drawn.map(({ deployment }) => deployment)
}
