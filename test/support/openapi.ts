import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonSchema } from '../../src/rules/openapi/json-schema.ts'
import { openApiDocument } from '../../src/rules/openapi/document.ts'

/** As much of the document as tests read. */
export interface Documented {
  servers: { url: string }[]
  paths: Record<string, Record<string, DocumentedOperation>>
  components: { schemas: Record<string, JsonSchema>; headers: Record<string, unknown> }
  'x-errors': Record<string, { status: number; message: string; docs: string }>
}

export interface DocumentedOperation {
  operationId: string
  requestBody?: { content: { 'application/json': { examples: Record<string, { value: unknown }> } } }
  responses: Record<string, DocumentedAnswer>
}

export interface DocumentedAnswer {
  description: string
  headers: Record<string, unknown>
  content: Record<string, { schema: JsonSchema; example?: unknown; examples?: Record<string, { value: string }> }>
}

export const DOCUMENT = openApiDocument({
  publicUrl: 'http://127.0.0.1:8080',
  consoleUrl: 'http://127.0.0.1:8081',
}) as Documented

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
ajv.addSchema(DOCUMENT, 'document')

/** The ways in which a value breaks a schema of the document; none when it is as documented. */
export function wrongBy(name: string, value: unknown): string[] {
  const validate = ajv.getSchema(`document#/components/schemas/${name}`)
  if (!validate) throw new Error(`the document has no schema ${name}`)
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${name}${instancePath} ${message}`)
}

/** Every operation, as `POST /v1/sessions`. */
export function operationsOf({ paths }: Documented): [key: string, operation: DocumentedOperation][] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  ) as [string, DocumentedOperation][]
}
