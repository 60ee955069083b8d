import type { Command } from 'commander'
import { rewrapProviderKeys } from '../../actions/catalogue/providers.ts'
import { forgetSecret, rewrapEndpointSecrets } from '../../actions/catalogue/secrets.ts'
import { createSecrets } from '../../platform/secrets.ts'
import { listProviders } from '../../store/catalogue/providers.ts'
import { wholeNumber } from '../arguments.ts'
import { CliError } from '../failures.ts'
import type { Output } from '../print.ts'
import { addChange, withStore, type Session } from '../session.ts'

export function addSecretsCommands(program: Command): void {
  const secrets = program.command('secrets').description('replace PARLEY_SECRET')
  addChange(
    secrets,
    'rewrap',
    'seal the API keys of all providers and the secrets of webhook endpoints under the first secret in PARLEY_SECRET; running it again changes nothing',
    'parley secrets rewrap    # with PARLEY_SECRET=2:NEW,1:OLD',
  ).action(withStore(rewrap))
  addChange(
    secrets,
    'forget',
    'retire a secret that no process has any longer; refused while something still needs it',
    'parley secrets forget 1    # with PARLEY_SECRET=2:NEW',
  )
    .argument('<version>', 'its number', wholeNumber(0, 9_999))
    .option('--lost', 'the secret is lost: whatever still needs it has to be created again')
    .action(withStore(forget))
}

/** Only the wrapping of each key's own key is made anew: no API key is decrypted for it. */
async function rewrap({ config, db, openSecrets, actor, change }: Session): Promise<Output> {
  const secrets = await openSecrets()
  const providers = await listProviders(db)
  const keys = providers.flatMap(({ id, name, keys: own }) =>
    own.map((key) => ({ id: key.id, label: `${name}/${key.name}`, context: `provider/${id}`, before: key.sealed_key })),
  )
  const unreadable: string[] = []
  const rewrapped = keys.flatMap(({ id, label, context, before }) => {
    try {
      const after = secrets.rewrap(before, context)
      return after === before ? [] : [{ id, before, after }]
    } catch {
      unreadable.push(label)
      return []
    }
  })
  const input = { keys: rewrapped, secretVersion: secrets.version, leaseMs: config.PARLEY_LEASE_MS }
  const changed = await change((tx) => rewrapProviderKeys(tx, actor, input))
  const unreadableKeys = unreadable.length
  const unreadableEndpoints = await change((tx) => rewrapEndpointSecrets(tx, actor, secrets))
  if (unreadableEndpoints > 0)
    unreadable.push(`the secrets of ${unreadableEndpoints} webhook endpoints (their owners can roll them)`)
  const already = keys.length - rewrapped.length - unreadableKeys
  if (unreadable.length > 0) {
    throw new CliError(
      `${changed} rewrapped, but PARLEY_SECRET does not open ${unreadable.join(', ')}. List the secret they were sealed under again, or add each key again: parley provider key add`,
    )
  }
  return {
    document: { secret_version: secrets.version, keys: keys.length, rewrapped: changed, already },
    text: `Keys: ${keys.length}. Rewrapped under secret ${secrets.version}: ${changed}. Already under it: ${already}.`,
  }
}

/** Opens no secret: where one is lost, there is none to compare. */
async function forget(
  { config, actor, change }: Session,
  version: number,
  options: { lost?: boolean },
): Promise<Output> {
  const { versionOf } = createSecrets(config.PARLEY_SECRET)
  const input = { version, isLost: options.lost ?? false, leaseMs: config.PARLEY_LEASE_MS, versionOf }
  await change((tx) => forgetSecret(tx, actor, input))
  return {
    document: { secret_version: version, lost: input.isLost },
    text: `Secret ${version} is forgotten. Run "parley doctor" to see whether anything still needs it.`,
  }
}
