import { valuesIn, type Check } from './check.ts'
import type { Fields } from './requests.ts'
import type { BodyType } from './targets.ts'

/** Values that mean nothing: some provider refuses each of them somewhere. */

interface Meaning {
  type: BodyType
  name: string
  why: string
}

const MEANT: readonly Meaning[] = [
  { type: 'openai', name: 'content', why: 'the words of the caller, and null beside calls, which some refuse without' },
  { type: 'openai', name: 'text', why: 'the words of the caller' },
  { type: 'openai', name: 'parameters', why: 'the schema of the caller: any object' },
  { type: 'gemini', name: 'result', why: 'what a tool has answered' },
  { type: 'gemini', name: 'args', why: 'a call without arguments' },
  { type: 'anthropic', name: 'input', why: 'a call without arguments' },
  { type: 'converse', name: 'input', why: 'a call without arguments' },
  { type: 'converse', name: 'content', why: 'what a tool has answered: the list is mandatory, also in a toolResult' },
  { type: 'converse', name: 'system', why: 'written by @ai-sdk/amazon-bedrock in each request, and taken' },
  { type: 'converse', name: 'any', why: 'the name of the choice says it all' },
  { type: 'converse', name: 'auto', why: 'the name of the choice says it all' },
]

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function checkOf(type: BodyType, bad: readonly Fields[]): Check {
  const meant = new Set(MEANT.filter((meaning) => meaning.type === type).map(({ name }) => name))
  return {
    title: 'a null or an empty value that means nothing',
    about: (target) => target.type === type,
    finds: (body) => [...valuesIn(body)].some(({ name, value }) => isEmpty(value) && !meant.has(name)),
    bad,
  }
}

export const EMPTY_CHECKS: readonly Check[] = [
  checkOf('openai', [
    { seed: null },
    { logit_bias: {} },
    { response_format: { type: 'json_schema', json_schema: { strict: null } } },
    { messages: [{ role: 'user', content: [{ type: 'file', file: { filename: '' } }] }] },
  ]),
  checkOf('anthropic', [{ system: [] }, { messages: [{ content: [{ type: 'document', title: '' }] }] }]),
  checkOf('gemini', [{ generationConfig: {} }, { generationConfig: { thinkingConfig: {} } }]),
  checkOf('converse', [{ inferenceConfig: {} }, { additionalModelRequestFields: {} }]),
]
