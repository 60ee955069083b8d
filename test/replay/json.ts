/** Looking into JSON whose form nobody has promised. */

export type Json = unknown

export function at(value: Json, ...path: (string | number)[]): Json {
  return path.reduce<Json>((found, step) => (found as Record<string | number, Json> | null | undefined)?.[step], value)
}

export function list(value: Json, ...path: (string | number)[]): Json[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

/** Empty where there is none. */
export function text(value: Json, ...path: (string | number)[]): string {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : ''
}

/** The first of these that is a number. */
export function count(value: Json, ...paths: string[]): number {
  const found = paths.map((path) => at(value, ...path.split('.'))).find((each) => typeof each === 'number')
  return typeof found === 'number' ? found : 0
}
