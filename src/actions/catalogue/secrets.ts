import { MissingSecret, type Secrets } from '../../platform/secrets.ts'
import { listLiveGateways } from '../../store/billing/gateways.ts'
import type { Tx } from '../../store/database.ts'
import { listProviders } from '../../store/catalogue/providers.ts'
import { countKeyPairsBySecret } from '../../store/projects/keys.ts'
import { listSealedSecrets, replaceSealed } from '../../store/projects/webhook-endpoints.ts'
import { deleteSecretVersion, listSecretVersions } from '../../store/secret-versions.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'
import { conflict, notThere } from '../refusals.ts'

/** The root secrets: what must be true before one is used, and before one is given up. */

/** A gateway without it could not open what is sealed under it, and would answer none of the models that need it. */
export async function expectGatewaysToHave(tx: Tx, version: number, leaseMs: number): Promise<void> {
  const lacking = (await listLiveGateways(tx, leaseMs)).filter((gateway) => !gateway.secret_versions?.includes(version))
  if (lacking.length === 0) return
  throw conflict(
    `Nothing was sealed: secret ${version} is missing at ${namesOf(lacking)}. List it in PARLEY_SECRET of every gateway, after the one that is first now, and restart them before you put it first.`,
  )
}

/** Seals the secrets of webhook endpoints under the newest secret. Returns how many could not be opened. */
export async function rewrapEndpointSecrets(
  tx: Tx,
  actor: Actor,
  secrets: Pick<Secrets, 'rewrap' | 'version'>,
): Promise<number> {
  let [rewrapped, unreadable] = [0, 0]
  for (const { id, ...before } of await listSealedSecrets(tx)) {
    const anew = (text: string) => secrets.rewrap(text, `webhook/${id}`, 'webhooks')
    try {
      const after = { sealed: anew(before.sealed), old: before.old === null ? null : anew(before.old) }
      if (after.sealed === before.sealed && after.old === before.old) continue
      await replaceSealed(tx, id, before, after)
      rewrapped++
    } catch (error) {
      if (!(error instanceof MissingSecret)) throw error
      unreadable++
    }
  }
  const details = { secretVersion: secrets.version, webhookEndpoints: rewrapped }
  if (rewrapped > 0) await auditInstallation(tx, actor, 'secrets.rewrapped', { details })
  return unreadable
}

interface SecretToForget {
  version: number
  /** Then it does not matter what still needs it: nobody can open that any more. */
  isLost: boolean
  leaseMs: number
  versionOf(sealed: string): number
}

/** Gives up a secret, so that no process has to know it any more. */
export async function forgetSecret(tx: Tx, actor: Actor, input: SecretToForget): Promise<void> {
  const { version, isLost, leaseMs } = input
  const having = (await listLiveGateways(tx, leaseMs)).filter((gateway) => gateway.secret_versions?.includes(version))
  if (having.length > 0) {
    const what = isLost ? 'is not lost' : 'is still in use'
    throw conflict(
      `Secret ${version} ${what}. It is still listed by ${namesOf(having)}. Take it out of PARLEY_SECRET of every process, restart them and repeat this command. A gateway that was killed counts for ${leaseMs / 1_000} s after its end.`,
    )
  }
  if (!isLost) await expectUnused(tx, input)
  if (!(await deleteSecretVersion(tx, version))) throw notThere('secret')
  await auditInstallation(tx, actor, 'secrets.forgotten', { details: { secretVersion: version, isLost } })
}

async function expectUnused(tx: Tx, { version, versionOf }: SecretToForget): Promise<void> {
  const pairs = (await countKeyPairsBySecret(tx)).find(({ secret_version }) => secret_version === version)?.pairs ?? 0n
  if (pairs > 0n) {
    throw conflict(
      `Active key pairs that need secret ${version}: ${pairs}. It can go when they were rolled or disabled.`,
    )
  }
  const keys = (await listProviders(tx)).flatMap((provider) => provider.keys)
  const sealed = keys.filter(({ sealed_key }) => versionOf(sealed_key) === version).length
  if (sealed > 0) throw conflict(`Keys of providers under secret ${version}: ${sealed}. Run: parley secrets rewrap`)
  const signing = (await listSealedSecrets(tx)).flatMap(({ sealed: text, old }) =>
    old === null ? [text] : [text, old],
  )
  const ofEndpoints = signing.filter((text) => versionOf(text) === version).length
  if (ofEndpoints > 0)
    throw conflict(`Secrets of webhook endpoints under secret ${version}: ${ofEndpoints}. Run: parley secrets rewrap`)
  const others = (await listSecretVersions(tx)).filter((other) => other.version !== version)
  if (others.length > 0) return
  throw conflict(
    `Secret ${version} is the only one that this installation has. Use --lost if no one knows it any more.`,
  )
}

/** Nobody knows a gateway by its id: what its log and the system say, too, is when it was started. */
function namesOf(gateways: readonly { id: string; started_at: Date }[]): string {
  return gateways.map(({ id, started_at }) => `the gateway started at ${started_at.toISOString()} (${id})`).join(', ')
}
