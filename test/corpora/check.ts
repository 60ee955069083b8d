import { fieldsIn } from '../../src/rules/record.ts'
import type { Fields } from './requests.ts'
import type { Target } from './targets.ts'

/** A shape that a real provider is known to refuse. */
export interface Check {
  title: string
  about(target: Target): boolean
  finds(body: Fields): boolean
  /** Bodies that it must find: a check that finds nothing guards nothing. */
  bad: readonly Fields[]
}

/** The objects in a list, and none where there is no list. */
export function itemsIn(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsIn) : []
}

export function at(preset: string): Check['about'] {
  return (target) => target.preset === preset
}

/** Where anybody may write anything: schemas of JSON, and what tools are called with. */
const FREE = new Set([
  'parameters',
  'input_schema',
  'schema',
  'json',
  'parametersJsonSchema',
  'responseJsonSchema',
  'args',
  'input',
  'logit_bias',
])

/** Every value in a body with its name, but those inside of what is free. */
export function* valuesIn(value: unknown): Generator<{ name: string; value: unknown; beside: Fields }> {
  if (Array.isArray(value)) for (const item of value) yield* valuesIn(item)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      yield { name: key, value: inner, beside: value as Fields }
      if (!FREE.has(key)) yield* valuesIn(inner)
    }
  }
}

/** Whether a schema has a keyword anywhere, and not merely a property of that name. */
export function hasKeyword(schema: unknown, isMeant: (keyword: string, value: unknown) => boolean): boolean {
  if (Array.isArray(schema)) return schema.some((item) => hasKeyword(item, isMeant))
  return Object.entries(fieldsIn(schema)).some(([keyword, value]) => {
    if (isMeant(keyword, value)) return true
    if (['enum', 'default', 'examples', 'required', 'const'].includes(keyword)) return false
    if (!['properties', '$defs', 'definitions', 'patternProperties'].includes(keyword))
      return hasKeyword(value, isMeant)
    return Object.values(fieldsIn(value)).some((member) => hasKeyword(member, isMeant))
  })
}

const BOUND =
  /^(?:minimum|maximum|exclusive(?:Min|Max)imum|multipleOf|(?:min|max)(?:Length|Items|Properties)|uniqueItems)$/

export function hasBounds(schema: unknown): boolean {
  return hasKeyword(schema, (keyword, value) => BOUND.test(keyword) && !(keyword === 'minItems' && Number(value) <= 1))
}

/** Nothing, of what is no text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function isBlankText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === ''
}

export function areEqual(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((value, n) => value === others[n])
}
