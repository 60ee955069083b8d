import type { Random } from '../support/random.ts'
import { LONG_TEXTS, prose } from './texts.ts'

/** Request bodies of the callers. */

/** The directive for the simulator, which stands in the last user message. */
function directive(id: string, script: string): string {
  return `[[sim mark=${id} ${script}]]`
}

interface Asked {
  model?: string
  script: string
  text?: string
  isStream?: boolean
  parts?: unknown[]
  before?: unknown[]
  more?: Record<string, unknown>
}

export function bodyOf(
  id: string,
  { model = 'plain', script, text = 'Hello.', isStream, parts, before = [], more }: Asked,
) {
  const said = `${text} ${directive(id, script)}`
  const content = parts ? [{ type: 'text', text: said }, ...parts] : said
  return { model, stream: isStream ?? false, messages: [...before, { role: 'user', content }], ...more }
}

/** Texts to be embedded; the last tells the simulator what to do, and no conversation names the call. */
export function inputsOf(id: string, { model = 'vectors', script, texts = [] }: AskedVectors) {
  return { model, input: [...texts, `And this. ${directive(id, script)}`], metadata: { mark: id } }
}

interface AskedVectors {
  model?: string
  script: string
  texts?: readonly string[]
}

export function maybeMaxTokens(random: Random): Record<string, unknown> {
  return random.next() < 0.5 ? {} : { max_tokens: 1 + random.int(400) }
}

export function image(random: Random): unknown {
  const detail = random.pick([undefined, 'low', 'auto', 'high'])
  const url = random.pick([
    'https://example.com/a.png',
    `data:image/png;base64,${'iVBORw0KGgo'.repeat(1 + random.int(900))}`,
  ])
  return { type: 'image_url', image_url: { url, ...(detail && { detail }) } }
}

/** Larger than anybody would guess who does not know the model. */
export function largeImage(random: Random): unknown {
  return { type: 'image_url', image_url: { url: `https://example.com/a.png?tokens=${20_000 + random.int(10_000)}` } }
}

export function file(random: Random): unknown {
  const file_data = `data:application/pdf;base64,${'JVBERi0xLjQK'.repeat(1 + random.int(2_000))}`
  return { type: 'file', file: { filename: 'report.pdf', file_data } }
}

export const TOOL = {
  type: 'function',
  function: { name: 'look_up', parameters: { type: 'object', properties: { place: { type: 'string' } } } },
}

export function tools(random: Random): unknown[] {
  const others = Array.from({ length: random.int(20) }, (_, n) => ({
    type: 'function',
    function: { name: `tool_${n}`, description: prose(random, 20 + random.int(2_000)), parameters: { type: 'object' } },
  }))
  return [TOOL, ...others]
}

/** A long string in a place where nobody looked for one. */
export function hiddenStrings(random: Random): unknown[] {
  const long = prose(random, 200 + random.int(40_000))
  const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } }
  return random.pick([
    () => [
      { role: 'user', content: 'Hi.' },
      { role: 'assistant', refusal: long },
    ],
    () => [
      { role: 'assistant', tool_calls: [{ ...call, id: long }] },
      { role: 'tool', tool_call_id: long, content: 'There.' },
    ],
    () => [
      {
        role: 'assistant',
        tool_calls: [{ ...call, function: { name: 'look_up', arguments: JSON.stringify({ long }) } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: long },
    ],
    () => [{ role: 'system', content: long }],
  ])()
}

/** Not longer: a megabyte of hostile text takes the simulator a second to count. */
export function longText(random: Random): string {
  const characters = random.pick([17_000, 30_000, 60_000]) + random.int(8_000)
  return random.pick(LONG_TEXTS)(random, characters)
}
