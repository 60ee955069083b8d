import { PRESETS, presetNamed, type Preset } from '../../providers/presets.ts'
import { isRecord } from '../../rules/record.ts'
import { missingFields, type FieldAddition, type ProviderFields } from '../../rules/catalogue/unsupported-fields.ts'
import { listDeployments } from '../../store/catalogue/models.ts'
import type { Db } from '../../store/database.ts'
import type { PriceFile } from './price-file.ts'
import type { Provider } from './provider-keys.ts'

/** The preset that a provider is one of: by its name, or else by its address. */
export function presetOf({ name, kind, base_url }: Pick<Provider, 'name' | 'kind' | 'base_url'>): Preset | undefined {
  const named = presetNamed(name)
  if (named?.kind === kind) return named
  return PRESETS.find((preset) => preset.kind === kind && preset.baseUrl === base_url)
}

/** A provider of this installation, and the name of the preset that it is one of. */
export interface MappedProvider {
  provider: Provider
  preset: string
}

/**
 * Fields that routes of these providers should refuse, by the price file and the presets, and do not: routes that were made
 * before a field was passed on do not list it.
 */
export async function findMissingFields(
  db: Db,
  file: PriceFile,
  mapped: readonly MappedProvider[],
): Promise<FieldAddition[]> {
  const known = new Map(mapped.map((one) => [one.provider.id, fieldsOf(one, file)]))
  const routes = (await listDeployments(db)).map((route) => ({
    id: route.id,
    modelId: route.model_id,
    provider: route.provider,
    providerId: route.provider_id,
    upstreamModel: route.upstream_model,
    enabled: route.enabled,
    unsupportedFields: route.unsupported_fields,
  }))
  return missingFields(routes, known)
}

function fieldsOf(one: MappedProvider, file: PriceFile): ProviderFields {
  const listed = file.providers.get(one.preset) ?? []
  return {
    ofSettings: listIn(one.provider.settings),
    ofPreset: presetFieldsOf(one),
    ofModels: new Map(listed.map(({ upstreamModel, unsupportedFields }) => [upstreamModel, unsupportedFields])),
  }
}

/** A provider of another wire format than the preset's is not one of it: only the prices are the same. */
function presetFieldsOf({ provider, preset }: MappedProvider): string[] {
  const known = presetNamed(preset)
  return known?.kind === provider.kind ? listIn(known.settings) : []
}

/** For a new route: what the file says of its model, and the preset where the provider's settings do not. */
export function fieldsForRoute(one: MappedProvider, ofModel: readonly string[]): string[] {
  const ofSettings = listIn(one.provider.settings)
  return [...new Set([...ofModel, ...presetFieldsOf(one).filter((field) => !ofSettings.includes(field))])]
}

function listIn(settings: unknown): string[] {
  const fields = isRecord(settings) ? settings.unsupportedFields : undefined
  return Array.isArray(fields) ? fields.map(String) : []
}
