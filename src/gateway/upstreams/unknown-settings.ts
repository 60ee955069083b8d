import type { Log } from '../../platform/log.ts'

/** Settings of providers that a newer version has written and this one leaves out: told once, not with every change of the catalogue. */
export interface UnknownSettings {
  note(provider: { id: string; name: string }, ignored: readonly string[]): void
  /** Forgets providers that are gone. */
  keepOnly(providers: ReadonlyMap<string, unknown>): void
}

export function createUnknownSettings(log: Pick<Log, 'warn'>): UnknownSettings {
  const told = new Map<string, string>()
  return {
    note({ id, name }, ignored) {
      const all = ignored.join(', ')
      if ((told.get(id) ?? '') === all) return
      told.set(id, all)
      if (all !== '')
        log.warn({ provider: name, settings: all }, 'settings that this version does not know are ignored')
    },
    keepOnly(providers) {
      for (const id of told.keys()) if (!providers.has(id)) told.delete(id)
    },
  }
}
