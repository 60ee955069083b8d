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

What becomes of each field of \`POST /v1/chat/completions\`, by the format of the provider behind a model: where it stands in
the request that the provider gets, or 422 with a sentence that names it. "Handled here" is what no provider needs to know. A
model with several routes takes the first that honours all of a request. The column of the OpenAI format is OpenAI itself; of
other providers in this format, the operator configures what they cannot do, and that is 422 as well.

This page is made from a table that is tried against simulated providers, as JSON and as a stream: \`npm run fields\`. Write it
anew with \`npm run fields -- --docs\`.
`

const EFFORTS_OPENING = `## reasoning_effort, by model

What the model is told: a word, a number of tokens (never more than the maximum of the answer leaves), or to think not at all.
Claude takes no budget under 1,024 tokens: with a smaller \`max_tokens\` it is 422.
`

export function pageOf(table: readonly Row[]): string {
  return [
    OPENING,
    tableOf([
      ['field', 'what it does here', ...Object.keys(COLUMNS)],
      ...table.map((row) => [
        fieldText(row),
        doesText(row),
        ...Object.values(COLUMNS).map((format) => cellText(row, format)),
      ]),
    ]),
    EFFORTS_OPENING,
    tableOf([
      ['model', ...REASONING_EFFORTS.map((effort) => `\`${effort}\``)],
      ...FAMILIES.map((family) => [family.name, ...REASONING_EFFORTS.map((effort) => toldText(family.told[effort]))]),
    ]),
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

/** What is refused whoever the provider is, is said once. */
function doesText({ does, cases }: Row): string {
  const always = new Set(cases.filter(isAlwaysRefused).map(({ name }) => name))
  return always.size === 0 || always.size === cases.length ? does : `${does} 422: ${[...always].join(', ')}.`
}

function isAlwaysRefused(tried: Case): boolean {
  return Object.values(COLUMNS).every((format) => isRefused(expectedOf(tried, format)))
}

function isRefused(expected: Expected | undefined): boolean {
  return expected !== undefined && 'refused' in expected
}

function cellText({ cases }: Row, format: FormatName): string {
  const known = cases.filter((tried) => expectedOf(tried, format))
  if (known.every((tried) => isRefused(expectedOf(tried, format)))) return '422'
  const all = known.filter(({ isAside }) => !isAside).flatMap((tried) => placesIn(expectedOf(tried, format)))
  const places = new Set(all.filter((place) => !all.some((outer) => place.startsWith(`${outer}.`))))
  // What each model is told has a table of its own.
  const refusals = known.filter(
    (tried) => isRefused(expectedOf(tried, format)) && !isAlwaysRefused(tried) && !EFFORT_CASES.includes(tried),
  )
  const names = new Set(refusals.map(({ name }) => name))
  const where = places.size === 0 ? 'handled here' : [...places].map((place) => `\`${place}\``).join(', ')
  return names.size === 0 ? where : `${where}. 422: ${[...names].join(', ')}`
}

/** Where something stands, without the numbers of messages and parts. */
function placesIn(expected: Expected | undefined): string[] {
  if (expected === undefined || 'refused' in expected) return []
  return Object.entries(expected.at)
    .filter(([, value]) => value !== undefined)
    .map(([path]) => path.replaceAll(/\.\d+(?=\.|$)/g, '[]'))
}

function toldText(told: Family['told'][keyof Family['told']]): string {
  if (told === undefined) return '422'
  if (typeof told === 'number') return told.toLocaleString('en')
  return told === 'off' ? told : `\`${told}\``
}
