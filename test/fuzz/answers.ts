/** The rules that every answer of the gateway must follow, whatever was asked. */
import { STATUS_CODES } from 'node:http'
import { ERRORS } from '../../src/rules/errors.ts'
import { eventsOf } from '../support/world.ts'

export interface HttpAnswer {
  status: number
  headers: Record<string, string | undefined>
  body: string
}

export interface Asked {
  method: string
  isOpenAIErrors: boolean
}

const STATUSES: ReadonlySet<number> = new Set(Object.values(ERRORS).map(({ status }) => status))

/** Returns the problem with an answer, or undefined if there is none. */
export function complaintAbout({ method, isOpenAIErrors }: Asked, answer: HttpAnswer): string | undefined {
  const { status, headers, body } = answer
  if (status === 500) return `500: ${body}`
  if (headers['x-request-id'] === undefined) return `${status} without x-request-id`
  if ('polluted' in {}) return 'a prototype was changed'
  if (status >= 400) return errorComplaint(status, method === 'HEAD' ? undefined : body, isOpenAIErrors)
  if (method === 'HEAD' || status === 204) return body === '' ? undefined : `a ${status} with a body`
  if (status >= 300) return headers.location === undefined ? `${status} without a location` : undefined
  return contentComplaint(headers['content-type'] ?? '', body)
}

function errorComplaint(status: number, body: string | undefined, isOpenAIErrors: boolean): string | undefined {
  if (!STATUSES.has(status)) return `${status} is not a documented status`
  if (body === undefined) return undefined
  // A page for readers who follow an old link.
  if (body.startsWith('<!doctype html>')) return undefined
  const said = parsed(body)
  if (said === undefined) return `${status} with a body that is not JSON: ${body.slice(0, 200)}`
  const { statusCode, message, error, ...others } = said as Record<string, unknown>
  const isPlain = statusCode === status && typeof message === 'string' && message !== ''
  if (!isPlain || Object.keys(others).length > 0) return `${status} in another shape: ${body.slice(0, 300)}`
  if (!isOpenAIErrors) return error === STATUS_CODES[status] ? undefined : `${status} whose error is ${String(error)}`
  return openAIComplaint(status, error)
}

function openAIComplaint(status: number, error: unknown): string | undefined {
  const { message, type, code, param, ...others } = Object(error) as Record<string, unknown>
  const isWhole = typeof message === 'string' && typeof type === 'string' && Object.keys(others).length === 0
  if (!isWhole || (param !== null && typeof param !== 'string')) return `not OpenAI's shape: ${JSON.stringify(error)}`
  const known = ERRORS[code as keyof typeof ERRORS] as { status: number } | undefined
  return known?.status === status ? undefined : `${status} with the code ${String(code)}`
}

function contentComplaint(type: string, body: string): string | undefined {
  if (type.startsWith('text/html')) return undefined
  if (!type.startsWith('text/event-stream'))
    return parsed(body) === undefined ? `a body that is not JSON: ${body.slice(0, 200)}` : undefined
  const events = eventsOf(body)
  const wrong = events.find((data) => data !== '[DONE]' && parsed(data) === undefined)
  if (wrong !== undefined) return `an event that is not JSON: ${wrong.slice(0, 200)}`
  const last = events.at(-1) ?? ''
  const isEnded = last === '[DONE]' || /"error"|"type":"response\.(?:completed|incomplete|failed)"/.test(last)
  return isEnded ? undefined : `a stream without an end: ${last.slice(0, 200)}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
