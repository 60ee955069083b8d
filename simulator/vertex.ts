/** Google's models at Vertex AI: the Gemini API's bodies at other addresses, and without ids for calls of functions. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Answer, ChatRequest, Dialect, StreamEvent } from './dialect.ts'
import { gemini } from './gemini.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'

export const vertex: Dialect = {
  ...gemini,
  idPrefix: 'vertex-sim-',
  serves: (method, path) => method === 'POST' && PATH.test(path),
  credentialIn,
  refusalOfKey: undefined,
  read,
  json: (answer) => JSON.parse(withoutIds(JSON.stringify(gemini.json(answer)))) as unknown,
  events,
}

/** Without a project it is express mode. */
const PATH =
  /^\/v1\/(projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google\/models\/([^/:]+:(?:generateContent|streamGenerateContent))(?=$|\?)/

/** Express mode takes an API key, and only that; a project wants a token of somebody who may use it. */
function credentialIn(headers: IncomingHttpHeaders, url: string): string | undefined {
  const isExpress = PATH.exec(url)?.[1] === undefined
  const key = isExpress ? headers['x-goog-api-key'] : headers.authorization
  return isExpress || String(key).startsWith('Bearer ') ? key?.toString() : undefined
}

function read(body: unknown, url: string): ChatRequest {
  const named = isRecord(body) && Array.isArray(body.contents) ? body.contents.some(hasId) : false
  if (named) throw new Refusal(400, 'Invalid JSON payload received. Unknown name "id" at function_call')
  return gemini.read(body, url.replace(PATH, '/v1beta/models/$2'))
}

function hasId(content: unknown): boolean {
  const parts = isRecord(content) && Array.isArray(content.parts) ? content.parts : []
  return parts.some((part) => isRecord(part) && [part.functionCall, part.functionResponse].some(isNamed))
}

function isNamed(call: unknown): boolean {
  return isRecord(call) && call.id !== undefined
}

function* events(answer: Answer): Generator<StreamEvent> {
  for (const event of gemini.events(answer)) yield { ...event, data: withoutIds(event.data) }
}

function withoutIds(text: string): string {
  return text.replaceAll(/"functionCall":\{"id":"[^"]*",/g, '"functionCall":{')
}
