import { createKnownProvider } from '../../providers/create-provider.ts'
import type { Provider } from '../../providers/provider.ts'
import type { Transport } from '../../providers/transport.ts'
import { errorFields, type Log } from '../../platform/log.ts'
import { MissingSecret, type Secrets } from '../../platform/secrets.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { embeddingFieldsOf, type EmbeddingsRequest } from '../../rules/calls/embeddings-request.ts'
import { fieldsOf, unsupportedField } from '../../rules/calls/route-fields.ts'
import type { ModelKind } from '../../rules/catalogue/model-kinds.ts'
import { CALL_ENDPOINTS } from '../../rules/endpoints.ts'
import { ParleyError, storeUnavailable } from '../../rules/errors.ts'
import type { Price } from '../../rules/billing/pricing.ts'
import { isServed, priceAt, usableDeploymentsOf, type Deployment, type Model } from '../../rules/upstreams/routing.ts'
import {
  catalogueVersion,
  loadCatalogue,
  type Catalogue,
  type ProviderRecord,
} from '../../store/catalogue/catalogue.ts'
import type { Db } from '../../store/database.ts'
import type { Caller } from '../authenticate.ts'
import { createUnknownSettings, type UnknownSettings } from './unknown-settings.ts'

/** The models that this gateway can answer with: a snapshot in memory that follows the store. */
export interface CatalogueView {
  /** The models that this caller may name, priced and routable. */
  modelsFor(caller: Caller): Model[]
  /**
   * Everything a call needs to ask the model that it names, and those to fall back on, in that order. Of these, the ones that
   * cannot honour the request are left out while another can. Throws 422, or 503 before the first snapshot.
   */
  routesFor(caller: Caller, request: ChatRequest): Routes
  /** The same for a model that makes embeddings. */
  embeddingRouteFor(caller: Caller, request: EmbeddingsRequest): Route
  /** Reads the store if it has changed. */
  refresh(): Promise<void>
  readonly isLoaded: boolean
  /** Why one of the models cannot be asked for here, although another gateway might. */
  readonly problem: string | undefined
}

export type Routes = readonly [Route, ...Route[]]

/** Where a call can go. */
export interface Route {
  model: Model
  /** In force now; frozen for the call. */
  price: Price
  /** The deployments that can answer this request. */
  deployments: OpenDeployment[]
}

/** A deployment, and what it takes to ask it. */
export interface OpenDeployment extends Deployment {
  provider: Provider
  /** At least one. */
  keys: readonly ProviderKey[]
}

export interface ProviderKey {
  id: string
  /** Changes with the key itself, so that whatever is known of a key is forgotten when it is replaced. */
  version: string
  name: string
  /** Undefined: the provider asks for none. */
  secret: string | undefined
}

export interface CatalogueOptions {
  db: Db
  secrets: Secrets
  transport: Transport
  log: Log
  /** Told of all deployments there are, each time that they have changed. */
  onChange(deployments: readonly OpenDeployment[]): void
}

export function createCatalogueView(options: CatalogueOptions): CatalogueView {
  let snapshot: Catalogue | undefined
  let open = new Map<string, OpenDeployment>()
  /** By model: those whose every deployment needs a secret that is missing. */
  let lacked = new Map<string, number>()
  const unknownSettings = createUnknownSettings(options.log)

  function current(): Catalogue {
    if (!snapshot) throw storeUnavailable()
    return snapshot
  }

  function findModel(id: string, kind: ModelKind, param: string, caller: Caller): PricedModel {
    const model = current().models.get(id)
    const price = model && priceAt(model, Date.now())
    if (!model || !price || !isVisible(model, caller)) throw notFound(id, param)
    expectKind(model, kind, param)
    return { model, price }
  }

  return {
    modelsFor: (caller) => [...current().models.values()].filter((model) => isVisible(model, caller)),
    routesFor(caller, request) {
      const ids = [...new Set([request.model, ...(request.models ?? [])])]
      const found = ids.map((id, at) => findModel(id, 'chat', at === 0 ? 'model' : 'models', caller))
      return possibleOf(found, (each) => chatRouteTo(each, request, { open, lacked }))
    },
    embeddingRouteFor(caller, request) {
      const found = findModel(request.model, 'embedding', 'model', caller)
      return embeddingRouteTo(found, request, { open, lacked })
    },
    async refresh() {
      if (snapshot && (await catalogueVersion(options.db)) === snapshot.version) return
      const loaded = await loadCatalogue(options.db)
      const providers = openProviders(loaded, { ...options, unknownSettings })
      open = openDeployments(loaded, providers)
      lacked = lackedSecrets(loaded, providers)
      snapshot = loaded
      options.onChange([...open.values()])
    },
    get isLoaded() {
      return snapshot !== undefined
    },
    get problem() {
      const needed = [...lacked].find(([id]) => isOffered(snapshot?.models.get(id)))
      return needed && `Secret ${needed[1]} is missing: keys of providers cannot be opened.`
    },
  }
}

type PricedModel = Pick<Route, 'model' | 'price'>

interface Opened {
  open: ReadonlyMap<string, OpenDeployment>
  /** The secret that is missing, by model. */
  lacked: ReadonlyMap<string, number>
}

function chatRouteTo({ model, price }: PricedModel, request: ChatRequest, opened: Opened): Route {
  const { usable, unsupported } = usableDeploymentsOf(model, fieldsOf(request))
  const deployments = openedOf(model, usable, opened)
  const refusedBy = ({ provider, upstreamModel }: OpenDeployment) => provider.cannotHonour(request, upstreamModel)
  const able = deployments.filter((deployment) => refusedBy(deployment) === undefined)
  const field = unsupported ?? (deployments[0] && refusedBy(deployments[0]))
  if (able.length === 0 && field) throw unsupportedField(field)
  return { model, price, deployments: able }
}

function embeddingRouteTo({ model, price }: PricedModel, request: EmbeddingsRequest, opened: Opened): Route {
  const { usable, unsupported } = usableDeploymentsOf(model, embeddingFieldsOf(request))
  const embedding = openedOf(model, usable, opened).filter(({ provider }) => provider.embed)
  const deployments = embedding.filter(({ provider }) => provider.cannotEmbed?.(request) === undefined)
  const field = unsupported ?? embedding[0]?.provider.cannotEmbed?.(request)
  if (deployments.length === 0) throw field ? unsupportedField(field) : cannotEmbed()
  return { model, price, deployments }
}

function openedOf({ id }: Model, usable: readonly Deployment[], { open, lacked }: Opened): OpenDeployment[] {
  const secretVersion = lacked.get(id)
  if (secretVersion !== undefined) throw storeUnavailable({ secretVersion })
  return usable.flatMap((deployment) => open.get(deployment.id) ?? [])
}

/** Returns all that can be found. Throws the first refusal if that is nothing. */
function possibleOf<T, Found>(wanted: readonly T[], find: (each: T) => Found): [Found, ...Found[]] {
  const found: Found[] = []
  let refusal: ParleyError | undefined
  for (const each of wanted) {
    try {
      found.push(find(each))
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error
      refusal ??= error
    }
  }
  const [first, ...others] = found
  if (first === undefined) throw refusal as ParleyError
  return [first, ...others]
}

const ENDPOINT_OF = { chat: 'chat', embedding: 'embeddings' } as const

/** A model that makes something else is not to be had here, and its endpoint is. */
function expectKind({ kind, id }: Model, expected: ModelKind, param: string): void {
  if (kind === expected) return
  const { path } = CALL_ENDPOINTS[ENDPOINT_OF[kind]]
  const makes = kind === 'embedding' ? 'makes embeddings' : 'answers chats'
  throw new ParleyError('model_not_found', { message: `The model ${id} ${makes}: use POST ${path}.`, param })
}

function cannotEmbed(): ParleyError {
  const message = 'No provider of this model offers embeddings. Use another model.'
  return new ParleyError('model_not_found', { message, param: 'model' })
}

function isOffered(model: Model | undefined): boolean {
  return model !== undefined && isServed(model, Date.now())
}

function isVisible(model: Model, caller: Caller): boolean {
  if (caller.isSandbox && model.kind !== 'chat') return false
  return isServed(model, Date.now()) && (caller.allowedModels === null || caller.allowedModels.includes(model.id))
}

type OpenProvider = Pick<OpenDeployment, 'provider' | 'keys'>

interface OpenProviders {
  usable: ReadonlyMap<string, OpenProvider>
  /** The secret that the keys of each need, where this gateway does not have it. */
  lacking: ReadonlyMap<string, number>
}

/** A provider whose keys cannot be unsealed is left out and reported: the others must go on answering. */
function openProviders({ providers }: Catalogue, options: OpenOptions): OpenProviders {
  options.unknownSettings.keepOnly(providers)
  const usable = new Map<string, OpenProvider>()
  const lacking = new Map<string, number>()
  for (const record of providers.values()) {
    try {
      usable.set(record.id, openProvider(record, options))
    } catch (error) {
      const secretVersion = error instanceof MissingSecret ? error.version : undefined
      if (secretVersion !== undefined) lacking.set(record.id, secretVersion)
      const fields = { provider: record.name, secretVersion, ...errorFields(error) }
      options.log.error(fields, 'provider is unusable: run "parley doctor"')
    }
  }
  return { usable, lacking }
}

/** By id. Those of providers that cannot be used are left out. */
function openDeployments({ models }: Catalogue, { usable }: OpenProviders): Map<string, OpenDeployment> {
  const deployments = [...models.values()].flatMap((model) => model.deployments)
  return new Map(
    deployments.flatMap((deployment) => {
      const provider = usable.get(deployment.providerId)
      return provider ? [[deployment.id, { ...deployment, ...provider }]] : []
    }),
  )
}

function lackedSecrets({ models }: Catalogue, { usable, lacking }: OpenProviders): Map<string, number> {
  return new Map(
    [...models.values()].flatMap(({ id, deployments }) => {
      if (deployments.some(({ providerId }) => usable.has(providerId))) return []
      const version = deployments.map(({ providerId }) => lacking.get(providerId)).find((found) => found !== undefined)
      return version === undefined ? [] : [[id, version]]
    }),
  )
}

type OpenOptions = CatalogueOptions & { unknownSettings: UnknownSettings }

function openProvider(record: ProviderRecord, { secrets, transport, unknownSettings }: OpenOptions): OpenProvider {
  const { provider, ignored } = createKnownProvider(record, transport)
  unknownSettings.note(record, ignored)
  const keys = record.keys.map(({ id, name, sealed }) => {
    return { id, version: sealed, name, secret: secrets.unseal(sealed, `provider/${record.id}`) }
  })
  const none = { id: record.id, version: '', name: 'none', secret: undefined }
  return { provider, keys: keys.length > 0 ? keys : [none] }
}

const SHOWN_CHARACTERS = 100

/** Where a request lists several models, the message says which. */
function notFound(id: string, param: string): ParleyError {
  if (param !== 'models') return new ParleyError('model_not_found', { param })
  const shown = JSON.stringify(id.slice(0, SHOWN_CHARACTERS))
  const message = `The model ${shown} of models is not available to this project. GET /v1/models lists the ones that are.`
  return new ParleyError('model_not_found', { param, message })
}
