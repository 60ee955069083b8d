/** An object of JSON, as opposed to a list, a text, or nothing. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The fields of what may be anything: of what is no object, none. */
export function fieldsIn(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}
