import { listProviders } from '../../store/catalogue/providers.ts'
import type { Db } from '../../store/database.ts'
import { findMissingFields, presetOf } from '../catalogue/missing-fields.ts'
import { readPriceFile } from '../catalogue/price-file.ts'
import { readStoredSettings } from '../catalogue/provider-settings.ts'
import type { Finding } from './checks.ts'

/** Settings that another version has stored, also of providers that are switched off: somebody may switch them on. */
export async function checkSettings(db: Db): Promise<Finding[]> {
  const providers = await listProviders(db)
  return providers.flatMap(({ name, kind, base_url: baseUrl, settings, enabled }) => {
    const check = `settings of ${name}`
    const { ignored, problem } = readStoredSettings({ name, kind, baseUrl, settings })
    if (problem !== undefined) {
      const mend = `Set others: parley provider set ${name} --settings JSON`
      const detail = `this version cannot read them, so its gateways do not use the provider: ${problem}`
      return [{ check, state: enabled ? 'problem' : 'hint', detail, mend } satisfies Finding]
    }
    if (ignored.length === 0) return []
    const detail = `this version does not know these and ignores them: ${ignored.join(', ')}`
    const mend = `Upgrade the processes that still run this version, or set others: parley provider set ${name} --settings JSON`
    return [{ check, state: 'hint', detail, mend } satisfies Finding]
  })
}

const NO_PRICE_FILE: Finding = {
  check: 'routes',
  state: 'hint',
  detail: 'the price file that comes with this version cannot be read, so fields were not compared',
}

/** A provider that is sent a field that it does not take answers 400, and callers see 502. */
export async function checkRouteFields(db: Db): Promise<Finding[]> {
  const providers = (await listProviders(db)).filter(({ enabled }) => enabled)
  const mapped = providers.flatMap((provider) => {
    const preset = presetOf(provider)?.name
    return preset === undefined ? [] : [{ provider, preset }]
  })
  const file = await readPriceFile(undefined).catch(() => undefined)
  if (!file) return [NO_PRICE_FILE]
  const missing = await findMissingFields(db, file, mapped)
  return missing.map(({ route: { provider, modelId, upstreamModel }, fields }) => {
    const preset = mapped.find((one) => one.provider.name === provider)?.preset
    const which = preset === provider ? provider : `${provider}=${preset}`
    return {
      check: `route ${modelId}`,
      state: 'hint',
      detail: `passes on what ${provider}/${upstreamModel} may refuse: ${fields.join(', ')}`,
      mend: `Run: parley model import --unsupported-only --provider ${which} --only "${modelId}"`,
    }
  })
}
