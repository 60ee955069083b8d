import type { Secrets } from '../../platform/secrets.ts'
import { listLiveGateways } from '../../store/billing/gateways.ts'
import { listProviders } from '../../store/catalogue/providers.ts'
import type { Db } from '../../store/database.ts'
import { countKeyPairsBySecret } from '../../store/projects/keys.ts'
import { complaintAbout, listSecretVersions } from '../../store/secret-versions.ts'
import { verdict, type Finding } from './checks.ts'

/** Whether PARLEY_SECRET is the installation's, everybody has it, and nothing needs one that is gone. */
export async function checkSecrets(db: Db, secrets: Secrets, leaseMs: number): Promise<Finding[]> {
  const complaint = complaintAbout(secrets, await listSecretVersions(db))
  // Nothing else that depends on it can be told then.
  if (complaint !== undefined) return [{ check: 'secrets', state: 'problem', detail: complaint }]
  return [
    await neededByKeyPairs(db, secrets),
    ...(await lackedByGateways(db, secrets, leaseMs)),
    ...(await sealedBefore(db, secrets)),
  ]
}

async function neededByKeyPairs(db: Db, secrets: Secrets): Promise<Finding> {
  const used = await countKeyPairsBySecret(db)
  const lost = used.filter(({ secret_version }) => !secrets.versions.includes(secret_version))
  const detail =
    lost.length === 0
      ? 'those of this installation, with each that active key pairs need'
      : lost.map((row) => `secret ${row.secret_version} is missing (active key pairs: ${row.pairs})`).join(', ')
  return verdict('secrets', lost.length === 0, detail, 'List that secret in PARLEY_SECRET again, as NUMBER:BASE64.')
}

/** Anything made under the first secret fails at a gateway that does not have it. */
async function lackedByGateways(db: Db, secrets: Secrets, leaseMs: number): Promise<Finding[]> {
  const lacking = (await listLiveGateways(db, leaseMs)).filter(
    ({ secret_versions }) => secret_versions !== null && !secret_versions.includes(secrets.version),
  )
  return lacking.map(({ id, secret_versions }) => ({
    check: 'gateway secrets',
    state: 'problem',
    detail: `gateway ${id} has secret ${secret_versions?.join(', ')}, but here ${secrets.version} comes first`,
    mend: `List secret ${secrets.version} in its PARLEY_SECRET too, before anything is created under it.`,
  }))
}

/** As long as there are such keys, the secret that they were sealed under cannot be dropped. */
async function sealedBefore(db: Db, secrets: Secrets): Promise<Finding[]> {
  const keys = (await listProviders(db)).flatMap((provider) => provider.keys)
  const old = keys.filter((key) => secrets.versionOf(key.sealed_key) !== secrets.version).length
  if (old === 0) return []
  const detail = `provider API keys sealed under a secret other than the first: ${old}`
  return [{ check: 'sealed keys', state: 'hint', detail, mend: 'Run: parley secrets rewrap' }]
}
