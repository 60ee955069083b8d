import { createProvider } from '../../providers/create-provider.ts'
import type { Provider } from '../../providers/provider.ts'
import type { Transport } from '../../providers/transport.ts'
import { errorFields, type Log } from '../../platform/log.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { fieldsOf, type ChatRequest } from '../../rules/calls/chat-request.ts'
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

/** What this gateway can answer with: a snapshot in memory that follows the store. */
export interface CatalogueView {
  /** The models that this caller may name, priced and routable. */
  modelsFor(caller: Caller): Model[]
  /** Everything a call to this model needs. Throws 422, or 503 before the first snapshot. */
  routeFor(caller: Caller, request: ChatRequest): Route
  /** Reads the store if it has changed. */
  refresh(): Promise<void>
  readonly isLoaded: boolean
}

/** Where a call can go. */
export interface Route {
  model: Model
  /** In force now; frozen for the call. */
  price: Price
  /** Those that can answer this request. */
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

  function current(): Catalogue {
    if (!snapshot) throw storeUnavailable()
    return snapshot
  }

  return {
    modelsFor: (caller) => [...current().models.values()].filter((model) => isVisible(model, caller)),
    routeFor(caller, request) {
      const model = current().models.get(request.model)
      const price = model && priceAt(model, Date.now())
      if (!model || !price || !isVisible(model, caller)) throw new ParleyError('model_not_found', { param: 'model' })
      const { usable, unsupported } = usableDeploymentsOf(model, fieldsOf(request))
      const deployments = usable.flatMap(({ id }) => open.get(id) ?? [])
      const able = deployments.filter(({ provider }) => provider.cannotHonour(request) === undefined)
      const field = unsupported ?? deployments[0]?.provider.cannotHonour(request)
      if (able.length === 0 && field) {
        throw new ParleyError('invalid_value', { message: `${field} is not supported by this model.`, param: field })
      }
      return { model, price, deployments: able }
    },
    async refresh() {
      if (snapshot && (await catalogueVersion(options.db)) === snapshot.version) return
      const loaded = await loadCatalogue(options.db)
      open = openDeployments(loaded, options)
      snapshot = loaded
      options.onChange([...open.values()])
    },
    get isLoaded() {
      return snapshot !== undefined
    },
  }
}

function isVisible(model: Model, caller: Caller): boolean {
  return isServed(model, Date.now()) && (caller.allowedModels === null || caller.allowedModels.includes(model.id))
}

type OpenProvider = Pick<OpenDeployment, 'provider' | 'keys'>

/** By id. Those of providers that cannot be used are left out. */
function openDeployments({ providers, models }: Catalogue, options: CatalogueOptions): Map<string, OpenDeployment> {
  const usable = new Map([...providers.values()].flatMap((record) => openProvider(record, options)))
  const deployments = [...models.values()].flatMap((model) => model.deployments)
  return new Map(
    deployments.flatMap((deployment) => {
      const provider = usable.get(deployment.providerId)
      return provider ? [[deployment.id, { ...deployment, ...provider }]] : []
    }),
  )
}

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
