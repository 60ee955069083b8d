import { isRecord } from '../rules/record.ts'

export type Schema = Record<string, unknown>

const SCHEMAS = new Set(['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', 'prefixItems', 'not'])
const SCHEMAS_BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Changes a schema and every schema in it. Values that only look like schemas stay as they are. Bodies from callers are at
 * most 32 levels deep. */
export function mapSchema(schema: unknown, change: (schema: Schema) => Schema): unknown {
  if (Array.isArray(schema)) return schema.map((item) => mapSchema(item, change))
  if (!isRecord(schema)) return schema
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (SCHEMAS.has(keyword)) return [keyword, mapSchema(value, change)]
    if (!SCHEMAS_BY_NAME.has(keyword) || !isRecord(value)) return [keyword, value]
    const members = Object.entries(value).map(([name, member]) => [name, mapSchema(member, change)])
    return [keyword, Object.fromEntries(members)]
  })
  return change(Object.fromEntries(entries))
}
