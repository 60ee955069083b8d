import { createProvider } from '../../providers/create-provider.ts'
import type { Provider } from '../../providers/provider.ts'
import type { Transport } from '../../providers/transport.ts'
import { errorFields, type Log } from '../../platform/log.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { fieldsOf, type ChatRequest } from '../../rules/calls/chat-request.ts'
import { ParleyError, storeUnavailable } from '../../rules/errors.ts'
import type { Price } from '../../rules/billing/pricing.ts'
import { isServed, priceAt, routesFor, type Deployment, type Model } from '../../rules/upstreams/routing.ts'
import {
  catalogueVersion,
  loadCatalogue,
  type Catalogue,
  type ProviderRecord,
} from '../../store/catalogue/catalogue.ts'
import type { Db } from '../../store/database.ts'
import type { Caller } from '../authenticate.ts'

/** What this gateway can answer with: a snapshot in memory that follows the store. */
export interface CatalogueView {
  /** The models that this caller may name, priced and routable. */
  modelsFor(caller: Caller): Model[]
  /** Everything a call to this model needs. Throws 422, or 503 before the first snapshot. */
  routeFor(caller: Caller, request: ChatRequest): ModelRoute
  /** Reads the store if it has changed. */
  refresh(): Promise<void>
  readonly isLoaded: boolean
}

export interface ModelRoute {
  model: Model
  /** In force now; frozen for the call. */
  price: Price
  /** Those that can answer this request. */
  routes: Route[]
}

export interface Route {
  deployment: Deployment
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
  /** Told of all routes there are, each time that they have changed. */
  onChange(routes: readonly Route[]): void
}

export function createCatalogueView(options: CatalogueOptions): CatalogueView {
  let snapshot: Catalogue | undefined
  let providers = new Map<string, OpenProvider>()

  function current(): Catalogue {
    if (!snapshot) throw storeUnavailable()
    return snapshot
  }

  function routesOver(deployments: readonly Deployment[]): Route[] {
    return deployments.flatMap((deployment) => {
      const provider = providers.get(deployment.providerId)
      return provider ? [{ deployment, ...provider }] : []
    })
  }

  return {
    modelsFor: (caller) => [...current().models.values()].filter((model) => isVisible(model, caller)),
    routeFor(caller, request) {
      const model = current().models.get(request.model)
      const price = model && priceAt(model, Date.now())
      if (!model || !price || !isVisible(model, caller)) throw new ParleyError('model_not_found', { param: 'model' })
      const { usable, unsupported } = routesFor(model, fieldsOf(request))
      const routes = routesOver(usable)
      const able = routes.filter(({ provider }) => provider.cannotHonour(request) === undefined)
      const field = unsupported ?? routes[0]?.provider.cannotHonour(request)
      if (able.length === 0 && field) {
        throw new ParleyError('invalid_value', { message: `${field} is not supported by this model.`, param: field })
      }
      return { model, price, routes: able }
    },
    async refresh() {
      if (snapshot && (await catalogueVersion(options.db)) === snapshot.version) return
      const loaded = await loadCatalogue(options.db)
      providers = new Map([...loaded.providers.values()].flatMap((record) => openProvider(record, options)))
      snapshot = loaded
      options.onChange([...loaded.models.values()].flatMap(({ deployments }) => routesOver(deployments)))
    },
    get isLoaded() {
      return snapshot !== undefined
    },
  }
}

function isVisible(model: Model, caller: Caller): boolean {
  return isServed(model, Date.now()) && (caller.allowedModels === null || caller.allowedModels.includes(model.id))
}

type OpenProvider = Omit<Route, 'deployment'>

/** A provider whose keys cannot be unsealed is left out and reported: the others must go on answering. */
function openProvider(record: ProviderRecord, { secrets, transport, log }: CatalogueOptions): [string, OpenProvider][] {
  try {
    const provider = createProvider(record, transport)
    const keys = record.keys.map(({ id, name, sealed }) => {
      return { id, version: sealed, name, secret: secrets.unseal(sealed, `provider/${record.id}`) }
    })
    const none = { id: record.id, version: '', name: 'none', secret: undefined }
    return [[record.id, { provider, keys: keys.length > 0 ? keys : [none] }]]
  } catch (error) {
    log.error({ provider: record.name, ...errorFields(error) }, 'provider is unusable: run "parley doctor"')
    return []
  }
}
