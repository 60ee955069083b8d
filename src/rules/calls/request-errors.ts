import type { z } from 'zod'
import { ParleyError } from '../errors.ts'

/** How a request that does not fit its schema is refused: with the path of what is wrong, and in words. */

const REQUIRED: ReadonlySet<string> = new Set(['model', 'messages', 'input'])

/** Without a model, messages or input there is no request at all (400); any other wrong value is a request that asks for something impossible (422). */
export function requestErrorOf(error: z.ZodError): ParleyError {
  const issue = error.issues[0]
  const path = pathOf(issue?.path ?? [])
  const message = `${path} ${sentenceOf(issue)}`
  const isMissing = REQUIRED.has(path) && issue?.code !== 'too_big'
  return new ParleyError(isMissing ? 'invalid_request' : 'invalid_value', { message: `${message}.`, param: path })
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((whole, step) => {
    if (typeof step === 'number') return `${whole}[${step}]`
    return whole === '' ? String(step) : `${whole}.${String(step)}`
  }, '')
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

const UNITS: Record<string, string> = { array: ' items long', string: ' characters long' }

/** A schema's own words are used if they begin with "must" or "is": they stand after the name of the field. */
export function sentenceOf(issue: z.core.$ZodIssue | undefined): string {
  if (!issue) return 'is not valid'
  if (issue.message.startsWith('must ') || issue.message.startsWith('is ')) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      return `must be ${KINDS[issue.expected] ?? `of type ${issue.expected}`}`
    case 'too_small':
      if (issue.origin === 'array') return 'must not be empty'
      return `must be ${issue.inclusive ? 'at least' : 'greater than'} ${issue.minimum}`
    case 'too_big':
      return `must be at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    default:
      return 'is not valid'
  }
}
