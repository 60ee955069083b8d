import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { lastOf } from '../../rules/catalogue/api-keys.ts'
import {
  deleteProviderKey,
  insertProvider,
  updateProvider,
  updateProviderKey,
  updateSealedKeys,
  upsertProviderKey,
  type NewProvider,
  type Rewrapped,
} from '../../store/catalogue/providers.ts'
import type { Tx } from '../../store/database.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'
import { notThere } from '../refusals.ts'
import { expectGatewaysToHave } from './secrets.ts'

/** Upstreams that answer, and their API keys: sealed before they are stored, and named in the log by their end alone. */

/** The name of a provider's only key, unless it is given another. */
export const DEFAULT_KEY = 'default'

export interface ApiKey {
  apiKey: string
  secrets: Secrets
  /** How long a gateway that says nothing is taken to live. */
  leaseMs: number
}

interface ProviderAtHand {
  id: string
  name: string
}

export async function addProvider(
  tx: Tx,
  actor: Actor,
  { provider, key }: { provider: Omit<NewProvider, 'id'>; key: ApiKey | undefined },
): Promise<void> {
  const id = uuidv7()
  await insertProvider(tx, { ...provider, id })
  const last4 = key && (await putKey(tx, id, DEFAULT_KEY, key))
  const { name, kind, baseUrl } = provider
  await auditInstallation(tx, actor, 'provider.added', { subject: name, details: { kind, baseUrl, key: last4 } })
}

interface ProviderChange {
  provider: ProviderAtHand
  /** Undefined: stays as it is. */
  baseUrl: string | undefined
  settings: Record<string, unknown> | undefined
  /** The provider's only key. Null: it is taken away. */
  key: ApiKey | null | undefined
}

export async function changeProvider(tx: Tx, actor: Actor, change: ProviderChange): Promise<void> {
  const { provider, baseUrl, settings, key } = change
  if (key === null) await deleteProviderKey(tx, provider.id, DEFAULT_KEY)
  const last4 = key && (await putKey(tx, provider.id, DEFAULT_KEY, key))
  if (baseUrl !== undefined || settings !== undefined) {
    await updateProvider(tx, provider.name, {
      ...(baseUrl !== undefined && { base_url: baseUrl }),
      ...(settings !== undefined && { settings: JSON.stringify(settings) }),
    })
  }
  const details = { baseUrl, settings: settings && Object.keys(settings), key: key === null ? 'removed' : last4 }
  await auditInstallation(tx, actor, 'provider.changed', { subject: provider.name, details })
}

export async function setProviderEnabled(
  tx: Tx,
  actor: Actor,
  { name, isEnabled }: { name: string; isEnabled: boolean },
): Promise<void> {
  if (!(await updateProvider(tx, name, { enabled: isEnabled }))) throw notThere('provider')
  await auditInstallation(tx, actor, isEnabled ? 'provider.enabled' : 'provider.disabled', { subject: name })
}

interface ProviderKeyAtHand {
  provider: ProviderAtHand
  keyName: string
}

/** Adds a key, or puts another in the place of the one with that name. */
export async function addProviderKey(
  tx: Tx,
  actor: Actor,
  { provider, keyName, key }: ProviderKeyAtHand & { key: ApiKey },
): Promise<void> {
  const last4 = await putKey(tx, provider.id, keyName, key)
  const details = { key: keyName, last4 }
  await auditInstallation(tx, actor, 'provider.key_added', { subject: provider.name, details })
}

export async function removeProviderKey(tx: Tx, actor: Actor, { provider, keyName }: ProviderKeyAtHand): Promise<void> {
  if (!(await deleteProviderKey(tx, provider.id, keyName))) throw notThere('key')
  const details = { key: keyName }
  await auditInstallation(tx, actor, 'provider.key_removed', { subject: provider.name, details })
}

export async function setProviderKeyEnabled(
  tx: Tx,
  actor: Actor,
  { provider, keyName, isEnabled }: ProviderKeyAtHand & { isEnabled: boolean },
): Promise<void> {
  if (!(await updateProviderKey(tx, provider.id, keyName, { enabled: isEnabled }))) throw notThere('key')
  const action = isEnabled ? 'provider.key_enabled' : 'provider.key_disabled'
  await auditInstallation(tx, actor, action, { subject: provider.name, details: { key: keyName } })
}

/** Keys that were sealed under an older secret. Returns how many: one that was replaced meanwhile stays as it is. */
export async function rewrapProviderKeys(
  tx: Tx,
  actor: Actor,
  { keys, secretVersion, leaseMs }: { keys: readonly Rewrapped[]; secretVersion: number; leaseMs: number },
): Promise<bigint> {
  await expectGatewaysToHave(tx, secretVersion, leaseMs)
  if (keys.length === 0) return 0n
  const rewrapped = await updateSealedKeys(tx, keys)
  const details = { secretVersion, keys: Number(rewrapped) }
  await auditInstallation(tx, actor, 'secrets.rewrapped', { details })
  return rewrapped
}

/** Returns what may be shown of it. */
async function putKey(tx: Tx, providerId: string, name: string, { apiKey, secrets, leaseMs }: ApiKey): Promise<string> {
  await expectGatewaysToHave(tx, secrets.version, leaseMs)
  const sealedKey = secrets.seal(apiKey, `provider/${providerId}`)
  const last4 = lastOf(apiKey)
  await upsertProviderKey(tx, { id: uuidv7(), providerId, name, sealedKey, last4 })
  return last4
}
