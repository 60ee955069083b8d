import { createProvider } from '../../providers/create-provider.ts'
import type { Provider } from '../../providers/provider.ts'
import type { Transport } from '../../providers/transport.ts'
import { errorFields, type Log } from '../../platform/log.ts'
import { MissingSecret, type Secrets } from '../../platform/secrets.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { fieldsOf, unsupportedField } from '../../rules/calls/route-fields.ts'
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
  /** Why one of the models cannot be asked for here, although another gateway might. */
  readonly problem: string | undefined
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
  /** By model: those whose every deployment needs a secret that is missing. */
  let lacked = new Map<string, number>()

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
      const secretVersion = lacked.get(model.id)
      if (secretVersion !== undefined) throw storeUnavailable({ secretVersion })
      const refusedBy = ({ provider, upstreamModel }: OpenDeployment) => provider.cannotHonour(request, upstreamModel)
      const able = deployments.filter((deployment) => refusedBy(deployment) === undefined)
      const field = unsupported ?? (deployments[0] && refusedBy(deployments[0]))
      if (able.length === 0 && field) throw unsupportedField(field)
      return { model, price, deployments: able }
    },
    async refresh() {
      if (snapshot && (await catalogueVersion(options.db)) === snapshot.version) return
      const loaded = await loadCatalogue(options.db)
      const providers = openProviders(loaded, options)
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

function isOffered(model: Model | undefined): boolean {
  return model !== undefined && isServed(model, Date.now())
}

function isVisible(model: Model, caller: Caller): boolean {
  return isServed(model, Date.now()) && (caller.allowedModels === null || caller.allowedModels.includes(model.id))
}

type OpenProvider = Pick<OpenDeployment, 'provider' | 'keys'>

interface OpenProviders {
  usable: ReadonlyMap<string, OpenProvider>
  /** The secret that the keys of each need, where this gateway does not have it. */
  lacking: ReadonlyMap<string, number>
}

/** A provider whose keys cannot be unsealed is left out and reported: the others must go on answering. */
function openProviders({ providers }: Catalogue, options: CatalogueOptions): OpenProviders {
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

function openProvider(record: ProviderRecord, { secrets, transport }: CatalogueOptions): OpenProvider {
  const provider = createProvider(record, transport)
  const keys = record.keys.map(({ id, name, sealed }) => {
    return { id, version: sealed, name, secret: secrets.unseal(sealed, `provider/${record.id}`) }
  })
  const none = { id: record.id, version: '', name: 'none', secret: undefined }
  return { provider, keys: keys.length > 0 ? keys : [none] }
}
