/** The fields that a route should refuse by what is known of its provider and its model, and does not yet. */

export interface RouteFields {
  id: string
  modelId: string
  provider: string
  providerId: string
  upstreamModel: string
  enabled: boolean
  unsupportedFields: readonly string[]
}

export interface ProviderFields {
  /** From the provider's settings: they count for each of its routes. */
  ofSettings: readonly string[]
  /** From the preset that the provider is one of. */
  ofPreset: readonly string[]
  /** From the price file, by the provider's name for a model. */
  ofModels: ReadonlyMap<string, readonly string[]>
}

export interface FieldAddition {
  route: RouteFields
  /** Not empty. What an operator has listed stays beside them. */
  fields: string[]
}

/** Returns the fields to add to each route that is in use. Deciding again after they were added finds nothing. */
export function missingFields(
  routes: readonly RouteFields[],
  known: ReadonlyMap<string, ProviderFields>,
): FieldAddition[] {
  return routes.flatMap((route) => {
    const provider = known.get(route.providerId)
    if (!provider || !route.enabled) return []
    const refused = new Set([...route.unsupportedFields, ...provider.ofSettings])
    const listed = new Set([...(provider.ofModels.get(route.upstreamModel) ?? []), ...provider.ofPreset])
    const fields = [...listed].filter((field) => !refused.has(field))
    return fields.length === 0 ? [] : [{ route, fields }]
  })
}
