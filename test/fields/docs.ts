import { isDeepStrictEqual } from 'node:util'
import { REASONING_EFFORTS } from '../../src/rules/calls/chat-request.ts'
import { EFFORT_CASES, FAMILIES, type Family } from './efforts.ts'
import type { FormatName } from './formats.ts'
import { expectedOf, type Case, type Expected, type Row } from './row.ts'

/** docs/fields.md, from the same table that `npm run fields` tries: what it says is what was seen. */
export const DOCS = new URL('../../docs/fields.md', import.meta.url)

const COLUMNS: Record<string, FormatName> = {
  'OpenAI format': 'openai',
  Anthropic: 'anthropic',
  'Gemini and Vertex': 'gemini',
  Bedrock: 'bedrock',
}

const OPENING = `# Fields of a request

Which fields of \`POST /v1/chat/completions\` work with which provider. Nothing is dropped silently: if a provider or a model does
not support something, the call is 422 before anything is sent or charged, and the message names the field. Look it up in that
field's row.

- **yes**: the provider gets it, in its own terms. Exceptions follow after "422:".
- **422**: no model there supports it.
- **not needed**: the provider has no use for it, so it is left out.

The OpenAI format column describes OpenAI itself; for other providers with this format, the operator configures what they do not
support. A model with several routes uses the first one that supports the whole request. Values that SDKs send by default
(\`temperature: 1\`, \`tool_choice: "auto"\`, \`null\` in an optional field) are never refused.
`

const SAME_OPENING = `## The same at every provider

Parley handles these itself, whatever the provider.
`

const EFFORTS_OPENING = `## reasoning_effort, by model

What the model gets: a word, a number of tokens (never more than the answer's maximum leaves), or an instruction not to think.
Claude takes no budget under 1,024 tokens: a smaller \`max_tokens\` is 422. Claude gets the same at Bedrock as at Anthropic.
`

const PLACES_OPENING = `## Where it stands in the provider's request

To compare what you sent with what a provider got. \`[]\` is any message, part or tool.
`

const CLOSING = `This page is generated from a table that \`npm run fields\` tries against simulated providers, as JSON and as a stream. To
regenerate it, run \`npm run fields -- --docs\`.
`

export function pageOf(table: readonly Row[]): string {
  const differing = table.filter((row) => !isSameEverywhere(row))
  const columns = Object.values(COLUMNS)
  return [
    OPENING,
    tableOf([
      ['field', 'what it does here', ...Object.keys(COLUMNS)],
      ...differing.map((row) => [fieldText(row), doesText(row), ...columns.map((format) => cellText(row, format))]),
    ]),
    SAME_OPENING,
    tableOf([
      ['field', 'what it does here', '422'],
      ...table.filter(isSameEverywhere).map((row) => [fieldText(row), row.does, alwaysRefusedText(row)]),
    ]),
    EFFORTS_OPENING,
    tableOf([
      ['model', ...REASONING_EFFORTS.map((effort) => `\`${effort}\``)],
      ...FAMILIES.filter((family) => !isToldElsewhere(family)).map((family) => [
        family.name,
        ...REASONING_EFFORTS.map((effort) => toldText(family.told[effort])),
      ]),
    ]),
    PLACES_OPENING,
    tableOf([
      ['field', ...Object.keys(COLUMNS)],
      ...differing.map((row) => [fieldText(row), ...columns.map((format) => placesText(row, format))]),
    ]),
    CLOSING,
  ].join('\n')
}

function tableOf([head = [], ...rows]: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** Names of the request; what a row is called in words stays in words. */
function fieldText({ field, also = [] }: Row): string {
  const names = [field, ...also.filter((name) => name.startsWith('max_'))]
  return names.map((name) => (/^[a-z_]+$/.test(name) ? `\`${name}\`` : name)).join(', ')
}

function isSameEverywhere({ cases, isOurs }: Row): boolean {
  const isPassedOn = Object.values(COLUMNS).some((format) => placesOf(cases, format).length > 0)
  return isOurs === true || !isPassedOn
}

/** A refusal that does not depend on the provider is said once. */
function doesText(row: Row): string {
  const always = alwaysRefusedText(row)
  return always === '' ? row.does : `${row.does} 422: ${always}.`
}

function alwaysRefusedText({ cases }: Row): string {
  const always = cases.filter(isAlwaysRefused)
  return always.length === cases.length ? 'always' : namesOf(always)
}

function isAlwaysRefused(tried: Case): boolean {
  return Object.values(COLUMNS).every((format) => isRefused(expectedOf(tried, format)))
}

function isRefused(expected: Expected | undefined): boolean {
  return expected !== undefined && 'refused' in expected
}

function namesOf(cases: readonly Case[]): string {
  return [...new Set(cases.map(({ name }) => name))].join('; ')
}

function cellText({ cases }: Row, format: FormatName): string {
  const known = cases.filter((tried) => expectedOf(tried, format))
  const refusals = known.filter((tried) => isRefused(expectedOf(tried, format)))
  if (refusals.length === known.length) return '422'
  // The efforts that a model takes have a table of their own.
  const told = namesOf(refusals.filter((tried) => !isAlwaysRefused(tried) && !EFFORT_CASES.includes(tried)))
  const word = placesOf(cases, format).length === 0 ? 'not needed' : 'yes'
  return told === '' ? word : `${word}. 422: ${told}`
}

function placesText({ cases }: Row, format: FormatName): string {
  const all = placesOf(cases, format)
  const places = new Set(all.filter((place) => !all.some((outer) => place.startsWith(`${outer}.`))))
  return [...places].map((place) => `\`${place}\``).join(', ')
}

/** Where something stands, without the numbers of messages and parts. */
function placesOf(cases: readonly Case[], format: FormatName): string[] {
  return cases
    .filter(({ isAside }) => !isAside)
    .map((tried) => expectedOf(tried, format))
    .flatMap((expected) => (expected === undefined || 'refused' in expected ? [] : Object.entries(expected.at)))
    .filter(([, value]) => value !== undefined)
    .map(([path]) => path.replaceAll(/\.\d+(?=\.|$)/g, '[]'))
}

/** Whether the same models at another provider are told the same. */
function isToldElsewhere({ name, told }: Family): boolean {
  const elsewhere = FAMILIES.find((family) => `${family.name} at Bedrock` === name)
  return isDeepStrictEqual(elsewhere?.told, told)
}

function toldText(told: Family['told'][keyof Family['told']]): string {
  if (told === undefined) return '422'
  if (typeof told === 'number') return told.toLocaleString('en')
  return told === 'off' ? told : `\`${told}\``
}
