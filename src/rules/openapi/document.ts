import { ERRORS, type ErrorCode } from '../errors.ts'
import { ANSWERS } from './answers.ts'
import { BEFORE_ENDPOINTS, errorAnswersOf, GATEWAY_CODES } from './error-answers.ts'
import { ANSWER_EXAMPLES, EVENT_EXAMPLES, REQUEST_EXAMPLES } from './examples.ts'
import { ANSWER_HEADERS, PARAMETERS, SECURITY_SCHEMES, type AnswerHeader } from './headers.ts'
import { schemaOfAnswer, type JsonSchema } from './json-schema.ts'
import { OPERATIONS, type Operation } from './operations.ts'
import { REQUEST_SCHEMAS } from './requests.ts'

/** The public API in OpenAPI 3.1, made from what checks requests. The gateway and the console serve the same text. */

export interface DocumentOptions {
  /** Where callers reach the gateway. */
  publicUrl: string
  /** Where people read on: the console has the guides. */
  consoleUrl: string
}

const VERSION = '1'

const DESCRIPTION = [
  'A gateway to language models. Send OpenAI-format requests with both keys of a pair, in x-publishable-key and x-secret-key.',
  'Errors are {"statusCode", "message", "error"}, where error is the text of the HTTP status. With the header x-error-format: openai, error is an object with a code instead; x-errors lists all codes.',
  `Before an endpoint is reached: ${BEFORE_ENDPOINTS.join(', ')}.`,
].join('\n\n')

export function openApiDocument({ publicUrl, consoleUrl }: DocumentOptions): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Parley', version: VERSION, description: DESCRIPTION },
    externalDocs: { url: `${consoleUrl}/docs`, description: 'Guides' },
    servers: [{ url: publicUrl }],
    security: [{ publishableKey: [], secretKey: [] }, { bothKeys: [] }],
    paths: pathsOf(OPERATIONS),
    components: componentsOf(),
    'x-errors': Object.fromEntries(
      GATEWAY_CODES.map((code) => [code, { ...ERRORS[code], docs: docsOf(consoleUrl, code) }]),
    ),
  }
}

function docsOf(consoleUrl: string, code: ErrorCode): string {
  return `${consoleUrl}/docs/errors#${code}`
}

function pathsOf(operations: Record<string, Operation>): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {}
  for (const [key, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = key.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(operation) }
  }
  return paths
}

function operationOf(operation: Operation): object {
  const { id, summary, description, request, pathParameter, parameters } = operation
  return {
    operationId: id,
    summary,
    ...(operation.security && { security: [{ [operation.security]: [] }] }),
    description: operation.isForBrowsers ? description : `${description} Not for the secret of a browser session.`,
    parameters: [
      ...(pathParameter ? [{ ...pathParameter, in: 'path', required: true, schema: { type: 'string' } }] : []),
      ...parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(request && { requestBody: requestOf(request, operation) }),
    responses: { '200': answerOf(operation), ...errorAnswersOf(operation.codes) },
  }
}

function requestOf(name: keyof typeof REQUEST_SCHEMAS, { isBodyOptional = false }: Operation): object {
  const content = { schema: { $ref: `#/components/schemas/${name}` }, examples: REQUEST_EXAMPLES[name] }
  return { required: !isBodyOptional, content: { 'application/json': content } }
}

function answerOf({ answer, events, headers }: Operation): object {
  const example = answer in ANSWER_EXAMPLES ? ANSWER_EXAMPLES[answer as keyof typeof ANSWER_EXAMPLES] : undefined
  return {
    description: 'OK',
    headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      'application/json': { schema: { $ref: `#/components/schemas/${answer}` }, ...(example && { example }) },
      ...(events !== undefined && { 'text/event-stream': eventsOf(answer, events) }),
    },
  }
}

function eventsOf(answer: Operation['answer'], description: string): object {
  const schema = { type: 'string', description }
  if (answer !== 'ChatCompletion') return { schema }
  return {
    schema: { ...schema, 'x-event-data': { $ref: '#/components/schemas/ChatCompletionChunk' } },
    examples: {
      whole: { summary: 'To its end', value: EVENT_EXAMPLES.ChatCompletion },
      failed: { summary: 'One that failed after the first byte', value: EVENT_EXAMPLES.Failed },
    },
  }
}

function componentsOf(): object {
  const answers = Object.entries(ANSWERS).map(([name, schema]): [string, JsonSchema] => [name, schemaOfAnswer(schema)])
  const anyError = { anyOf: [{ $ref: '#/components/schemas/Error' }, { $ref: '#/components/schemas/OpenAIError' }] }
  return {
    securitySchemes: SECURITY_SCHEMES,
    parameters: Object.fromEntries(
      Object.entries(PARAMETERS).map(([name, parameter]) => [name, { ...parameter, in: 'header', required: false }]),
    ),
    headers: Object.fromEntries(
      (Object.entries(ANSWER_HEADERS) as [AnswerHeader, string][]).map(([name, description]) => [
        name,
        { description, schema: { type: 'string' } },
      ]),
    ),
    schemas: { ...REQUEST_SCHEMAS, ...Object.fromEntries(answers), AnyError: anyError },
  }
}
