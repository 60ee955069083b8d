import { isDeepStrictEqual } from 'node:util'
import type { AnswerPart, Expected, Seen } from './row.ts'

/** One call, as it looked from both sides. */
export interface Exchange {
  status: number
  /** The message of an error. */
  message: string
  answered: ReadonlySet<AnswerPart>
  /** The bodies sent to the provider, one for each time that it was asked. */
  bodies: readonly unknown[]
}

/** Everything in which an exchange is not as expected, in words. */
export function complaintsAbout(expected: Expected, exchange: Exchange): string[] {
  const { status, message, bodies } = exchange
  if ('refused' in expected) {
    const isNamed = message.startsWith(expected.refused) && !/^\w/.test(message.slice(expected.refused.length))
    return [
      ...(status === 422 ? [] : [`the status is ${status}, not 422`]),
      ...(isNamed ? [] : [`the message is "${message}" and does not begin with "${expected.refused}"`]),
      ...(bodies.length === 0 ? [] : ['the provider was asked all the same']),
    ]
  }
  if (status !== 200) return [`the status is ${status}: ${message}`]
  if (bodies.length !== 1) return [`the provider was asked ${bodies.length} times`]
  return complaintsAboutBody(expected, exchange, bodies[0])
}

function complaintsAboutBody({ at, answered = [], never = [] }: Seen, exchange: Exchange, body: unknown): string[] {
  const differing = Object.entries(at).filter(([path, value]) => !isAsExpected(valueAt(body, path), value))
  const text = JSON.stringify(body)
  return [
    ...differing.map(
      ([path, value]) =>
        `${path} is ${JSON.stringify(valueAt(body, path))}, not ${value instanceof RegExp ? String(value) : JSON.stringify(value)}`,
    ),
    ...answered.filter((part) => !exchange.answered.has(part)).map((part) => `the answer has no ${part}`),
    ...never.filter((words) => text.includes(words)).map((words) => `the provider saw "${words}"`),
  ]
}

function isAsExpected(seen: unknown, expected: unknown): boolean {
  if (expected instanceof RegExp) return typeof seen === 'string' && expected.test(seen)
  return isDeepStrictEqual(seen, expected)
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner: unknown, step) => {
    const isHolder = typeof inner === 'object' && inner !== null && Object.keys(inner).includes(step)
    return isHolder ? (inner as Record<string, unknown>)[step] : undefined
  }, value)
}
