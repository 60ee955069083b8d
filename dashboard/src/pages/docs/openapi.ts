/** As much of the description as the reference draws, and how it is put into words. */
export interface OpenApi {
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    parameters: Record<string, Parameter>
    schemas: Record<string, Schema>
  }
}

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description: string
  schema: Schema
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, Content> }
  responses: Record<string, { description: string; content: Record<string, Content> }>
}

export interface Content {
  schema: Schema
  example?: unknown
  examples?: Record<string, { summary: string; value: unknown }>
}

export interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
}

export interface Endpoint extends Operation {
  method: string
  path: string
}

export function endpointsOf({ paths }: OpenApi): Endpoint[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      Object.assign({ method: method.toUpperCase(), path }, operation),
    ),
  )
}

export function nameOf(ref: string): string {
  return ref.split('/').at(-1) ?? ''
}

export function resolved(document: OpenApi, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : (document.components.schemas[nameOf(schema.$ref)] ?? {})
}

/** `string or array`, `"stop" or null`, `integer from 1 to 100`. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(typeOf))].join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(', ')
  const type = [schema.type ?? 'any'].flat().join(' or ')
  if (type === 'array' && schema.items) return `array of ${typeOf(schema.items)}`
  return `${type}${boundsOf(schema)}`
}

function boundsOf({ minimum, maximum, exclusiveMinimum }: Schema): string {
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1)
  if (least === undefined || maximum === undefined) return ''
  return Math.abs(least) >= 1e15 ? '' : ` from ${least.toLocaleString('en')} to ${maximum.toLocaleString('en')}`
}

/** The fields inside of it, of an array those of its items, of alternatives those of all. */
export function fieldsOf(schema: Schema): [name: string, schema: Schema, isRequired: boolean][] {
  const { properties, required = [], items, anyOf, oneOf } = schema
  if (properties) return Object.entries(properties).map(([name, each]) => [name, each, required.includes(name)])
  if (items) return fieldsOf(items)
  const found = new Map<string, [string, Schema, boolean]>()
  for (const field of (anyOf ?? oneOf ?? []).flatMap(fieldsOf)) if (!found.has(field[0])) found.set(field[0], field)
  return [...found.values()]
}

/** A request to paste into a shell that has the keys. */
export function curlOf(document: OpenApi, { method, path }: Endpoint, body: unknown): string {
  const isStream = (body as { stream?: boolean } | undefined)?.stream === true
  const address = `${document.servers[0]?.url ?? ''}${path.replace('{id}', 'parley-small').replace('{completion_id}', '$COMPLETION_ID')}`
  const quoted = address.includes('$') ? `"${address}"` : address
  return [
    `curl ${isStream ? '-sSN' : '-sS'} ${quoted}`,
    `-H "x-publishable-key: $PARLEY_PUBLISHABLE_KEY"`,
    `-H "x-secret-key: $PARLEY_SECRET_KEY"`,
    ...(method === 'POST' ? [`-H 'content-type: application/json'`, `-d '${JSON.stringify(body, null, 2)}'`] : []),
  ].join(' \\\n  ')
}
