import { TOKEN_CLASSES, type TokenClass } from '../billing/usage.ts'
import { NO_FIGURES, type Figures } from './figures.ts'
import type { ModelKind } from './model-kinds.ts'
import { classesBelow, dearestOf, isSamePrice, oddities, withMargin, type Classes } from './margins.ts'

/** A model at a provider of this installation, as a price file describes it. */
export interface Offer {
  id: string
  kind: ModelKind
  ownedBy: string
  contextWindow: number | undefined
  maxOutputTokens: number | undefined
  figures: Figures
  provider: string
  providerId: string
  upstreamModel: string
  cost: Classes
  unsupportedFields: string[]
}

/** The catalogue's entry for a model. */
export interface KnownModel extends Facts {
  id: string
  /** In force when the import is to take effect. */
  price: Classes | undefined
  deployments: readonly KnownDeployment[]
}

export interface KnownDeployment {
  id: string
  providerId: string
  upstreamModel: string
  position: number
  enabled: boolean
  cost: Classes | undefined
}

export interface ModelChange {
  id: string
  isNew: boolean
  /** The facts about the model from now on. */
  facts: Facts
  hasNewFacts: boolean
  /** Absent: the price stays. */
  price?: { from: Classes | undefined; to: Classes }
  deployments: Offer[]
  /** Where the new deployments come. */
  position: number
  costs: { deploymentId: string; provider: string; to: Classes }[]
}

export interface Facts {
  /** A model that is there keeps its kind. */
  kind: ModelKind
  ownedBy: string
  contextWindow: number | null
  maxOutputTokens: number | null
  figures: Figures
  marginBps: number
}

export interface ImportPlan {
  changes: ModelChange[]
  unchanged: number
  /** Models whose price looks like a mistake. As long as there are any, nothing is imported. */
  refused: { id: string; why: string[] }[]
  warnings: string[]
}

export interface ImportOptions {
  /** Undefined: each model keeps its own. */
  marginBps: number | undefined
  /** Models whose odd prices are meant. */
  allowed: ReadonlySet<string>
}

/** Plans the changes of an import. Planning again after they were applied finds nothing. */
export function planImport(
  offers: readonly Offer[],
  known: ReadonlyMap<string, KnownModel>,
  options: ImportOptions,
): ImportPlan {
  const plan: ImportPlan = { changes: [], unchanged: 0, refused: [], warnings: [] }
  for (const [id, ofModel] of Map.groupBy(offers, (offer) => offer.id)) {
    const model = known.get(id)
    const change = changeOf(ofModel, model, options.marginBps)
    const { kind } = change.facts
    const why = change.price === undefined ? [] : oddities(change.price.to, model?.price, kind)
    const others = ofModel.filter((offer) => offer.kind !== kind)
    if (others.length > 0) plan.refused.push({ id, why: [`it is of the kind ${kind}, and listed as another`] })
    else if (why.length > 0 && !options.allowed.has(id)) plan.refused.push({ id, why })
    plan.warnings.push(...lossesOf(id, ofModel, model, change))
    if (isChange(change)) plan.changes.push(change)
    else plan.unchanged += 1
  }
  return plan
}

function changeOf(offers: readonly Offer[], model: KnownModel | undefined, margin: number | undefined): ModelChange {
  const [first] = offers as [Offer, ...Offer[]]
  const facts: Facts = {
    kind: model?.kind ?? first.kind,
    ownedBy: first.ownedBy,
    contextWindow: first.contextWindow ?? model?.contextWindow ?? null,
    maxOutputTokens: first.maxOutputTokens ?? model?.maxOutputTokens ?? null,
    figures: mergeFigures(first.figures, model?.figures ?? NO_FIGURES),
    marginBps: margin ?? model?.marginBps ?? 0,
  }
  // The dearest of those who may answer, so that none of them is sold below its cost.
  const to = withMargin(dearestOf(offers.map(({ cost }) => cost)), facts.marginBps)
  const from = model?.price
  return {
    id: first.id,
    isNew: model === undefined,
    facts,
    hasNewFacts: model === undefined || !areSameFacts(facts, model),
    ...(from !== undefined && isSamePrice(from, to) ? {} : { price: { from, to } }),
    ...deploymentChanges(offers, model),
  }
}

/** Takes the figures that the file states and, where it states none, those that are known. */
function mergeFigures(listed: Figures, known: Figures): Figures {
  return {
    image: listed.image ?? known.image,
    file: listed.file ?? known.file,
    tool: listed.tool ?? known.tool,
    reasoning: listed.reasoning ?? known.reasoning,
  }
}

function areSameFacts({ figures, ...facts }: Facts, model: KnownModel): boolean {
  const isSame = ([name, fact]: [string, unknown]) => model[name as keyof typeof facts] === fact
  const isSameFigure = ([name, figure]: [string, unknown]) => model.figures[name as keyof Figures] === figure
  return Object.entries(facts).every(isSame) && Object.entries(figures).every(isSameFigure)
}

/** A deployment that was taken away stays away; one that is there is only told what it costs. */
function deploymentChanges(
  offers: readonly Offer[],
  model: KnownModel | undefined,
): Pick<ModelChange, 'deployments' | 'position' | 'costs'> {
  const there = model?.deployments ?? []
  const enabled = there.filter((deployment) => deployment.enabled)
  // Behind what is there: an import adds a fall-back, it does not take calls away from a deployment.
  const position = enabled.length === 0 ? 0 : Math.max(...enabled.map((deployment) => deployment.position)) + 1
  const same = (offer: Offer) =>
    there.filter(({ providerId, upstreamModel }) => {
      return providerId === offer.providerId && upstreamModel === offer.upstreamModel
    })
  return {
    position,
    deployments: offers.filter((offer) => same(offer).length === 0),
    costs: offers.flatMap((offer) =>
      same(offer)
        .filter(({ enabled: isUsed, cost }) => isUsed && (cost === undefined || !isSamePrice(cost, offer.cost)))
        .map((deployment) => ({ deploymentId: deployment.id, provider: offer.provider, to: offer.cost })),
    ),
  }
}

function isChange(change: ModelChange): boolean {
  return change.hasNewFacts || change.price !== undefined || change.deployments.length > 0 || change.costs.length > 0
}

/** Deployments that the file does not speak of may cost more than it says. */
function lossesOf(
  id: string,
  offers: readonly Offer[],
  model: KnownModel | undefined,
  { price }: ModelChange,
): string[] {
  const asked = price?.to ?? model?.price
  const others = (model?.deployments ?? []).filter((deployment) => {
    return (
      deployment.enabled &&
      !offers.some(
        (offer) => offer.upstreamModel === deployment.upstreamModel && offer.providerId === deployment.providerId,
      )
    )
  })
  return others.flatMap(({ cost, upstreamModel }) => {
    const below = asked && cost ? classesBelow(asked, cost) : []
    return below.length === 0
      ? []
      : [`${id} would be sold below what its route to ${upstreamModel} costs: ${below.join(', ')}`]
  })
}

/** In tenths of a percent, or undefined where it was free before. */
export function changesOf({
  from,
  to,
}: {
  from: Classes
  to: Classes
}): { name: TokenClass; tenths: bigint | undefined }[] {
  return TOKEN_CLASSES.filter((name) => from[name] !== to[name]).map((name) => ({
    name,
    tenths: from[name] === 0n ? undefined : ((to[name] - from[name]) * 1_000n) / from[name],
  }))
}
