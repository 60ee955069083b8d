import type { Command } from 'commander'
import { rewrapProviderKeys } from '../../actions/catalogue/providers.ts'
import { listProviders } from '../../store/catalogue/providers.ts'
import { CliError } from '../failures.ts'
import type { Output } from '../print.ts'
import { addChange, withStore, type Session } from '../session.ts'

export function addSecretsCommands(program: Command): void {
  const secrets = program.command('secrets').description('what the API keys of providers are sealed under')
  addChange(
    secrets,
    'rewrap',
    'seal the API keys of all providers under the newest secret in PARLEY_SECRET; running it again changes nothing',
    'parley secrets rewrap    # with PARLEY_SECRET=2:NEW,1:OLD',
  ).action(withStore(rewrap))
}

/** Only the wrapping of each key's own key is made anew: no API key is decrypted for it. */
async function rewrap({ db, secrets, actor, change }: Session): Promise<Output> {
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
  const changed = await change((tx) =>
    rewrapProviderKeys(tx, actor, { keys: rewrapped, secretVersion: secrets.version }),
  )
  const already = keys.length - rewrapped.length - unreadable.length
  if (unreadable.length > 0) {
    throw new CliError(
      `${changed} rewrapped, but PARLEY_SECRET does not open ${unreadable.join(', ')}. List the secret they were sealed under again, or give each key anew: parley provider key add`,
    )
  }
  return {
    document: { secret_version: secrets.version, keys: keys.length, rewrapped: changed, already },
    text: `Keys: ${keys.length}. Rewrapped under secret ${secrets.version}: ${changed}. Already under it: ${already}.`,
  }
}
