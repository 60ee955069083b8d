import { fieldsIn } from '../../src/rules/record.ts'
import { areEqual, hasBounds, isBlankText, itemsIn, textOf, valuesIn, type Check } from './check.ts'
import type { Fields } from './requests.ts'

/** Checks for the requests that Anthropic's Messages API refuses. */

const anyOfThem: Check['about'] = ({ type }) => type === 'anthropic'
/** By the names in targets.ts. */
const since46: Check['about'] = ({ type, model }) => type === 'anthropic' && /opus-4-[67]/.test(model)
const since47: Check['about'] = ({ type, model }) => type === 'anthropic' && /opus-4-7/.test(model)

const user = (...content: Fields[]): Fields => ({ messages: [{ role: 'user', content }] })
const text = (words: string): Fields => ({ type: 'text', text: words })
const CALL = { type: 'tool_use', id: 'a', name: 'f', input: {} }
const RESULT = { type: 'tool_result', tool_use_id: 'a' }

function blocksOf(turn: Fields | undefined): Fields[] {
  return itemsIn(turn?.content)
}

function idsOf(turn: Fields | undefined, type: string, field: string): unknown[] {
  const blocks = blocksOf(turn).filter((block) => block.type === type)
  return blocks.map((block) => textOf(block[field])).toSorted()
}

export const CLAUDE_CHECKS: readonly Check[] = [
  {
    title: 'no turn, or one that says nothing',
    about: anyOfThem,
    finds: ({ messages }) =>
      itemsIn(messages).length === 0 || itemsIn(messages).some((turn) => blocksOf(turn).length === 0),
    bad: [{ messages: [] }, user()],
  },
  {
    title: 'two turns of the same side',
    about: anyOfThem,
    finds: ({ messages }) => itemsIn(messages).some(({ role }, n, all) => role === all[n - 1]?.role),
    bad: [{ messages: [...(user(text('a')).messages as Fields[]), ...(user(text('b')).messages as Fields[])] }],
  },
  {
    title: 'a text of whitespace',
    about: anyOfThem,
    finds: (body) => [...valuesIn(body)].some(({ name, value }) => name === 'text' && isBlankText(value)),
    bad: [user(text(' ')), { system: [text('')], ...user(text('Hi')) }, user({ ...RESULT, content: [text('\n')] })],
  },
  {
    title: 'an empty title',
    about: anyOfThem,
    finds: (body) => [...valuesIn(body)].some(({ name, value }) => name === 'title' && isBlankText(value)),
    bad: [user({ type: 'document', title: '' })],
  },
  {
    title: 'whitespace at the end of an answer to go on from',
    about: anyOfThem,
    finds: ({ messages }) => {
      const last = itemsIn(messages).at(-1)
      return last?.role === 'assistant' && /\s$/.test(textOf(blocksOf(last).at(-1)?.text))
    },
    bad: [{ messages: [{ role: 'assistant', content: [text('Hello ')] }] }],
  },
  {
    title: 'an answer to go on from, since 4.6',
    about: since46,
    finds: ({ messages }) => itemsIn(messages).at(-1)?.role === 'assistant',
    bad: [{ messages: [{ role: 'assistant', content: [text('Hello')] }] }],
  },
  {
    title: 'temperature and top_p together',
    about: anyOfThem,
    finds: (body) => 'temperature' in body && 'top_p' in body,
    bad: [{ temperature: 0.5, top_p: 0.5 }],
  },
  {
    title: 'temperature or top_p, since 4.7',
    about: since47,
    finds: (body) => 'temperature' in body || 'top_p' in body,
    bad: [{ temperature: 0 }, { top_p: 0.9 }],
  },
  {
    title: 'temperature, a forced tool or a prefill beside thoughts',
    about: anyOfThem,
    finds: ({ thinking, temperature, tool_choice, messages }) =>
      ['enabled', 'adaptive'].includes(textOf(fieldsIn(thinking).type)) &&
      (temperature !== undefined ||
        ['any', 'tool'].includes(textOf(fieldsIn(tool_choice).type)) ||
        itemsIn(messages).at(-1)?.role === 'assistant'),
    bad: [
      { thinking: { type: 'enabled' }, temperature: 0.5 },
      { thinking: { type: 'adaptive' }, tool_choice: { type: 'any' } },
      { thinking: { type: 'enabled' }, messages: [{ role: 'assistant', content: [text('Hello')] }] },
    ],
  },
  {
    title: 'a budget that leaves nothing, or is too small',
    about: anyOfThem,
    finds: ({ thinking, max_tokens }) => {
      const { budget_tokens: budget } = fieldsIn(thinking)
      return budget !== undefined && (Number(budget) >= Number(max_tokens) || Number(budget) < 1_024)
    },
    bad: [
      { thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 2_000 },
      { thinking: { type: 'enabled', budget_tokens: 1_000 }, max_tokens: 2_000 },
    ],
  },
  {
    title: 'a budget, since 4.6',
    about: since46,
    finds: ({ thinking }) => fieldsIn(thinking).type === 'enabled',
    bad: [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }],
  },
  {
    title: 'thoughts that are wanted, and calls without theirs',
    about: ({ type, model }) => type === 'anthropic' && /sonnet-4-5/.test(model),
    finds: ({ thinking, messages }) => {
      const asked = itemsIn(messages).findLastIndex((turn) => blocksOf(turn).some(({ type }) => type === 'tool_use'))
      const isLoop = asked >= 0 && asked === itemsIn(messages).length - 2
      const first = textOf(blocksOf(itemsIn(messages)[asked])[0]?.type)
      return thinking !== undefined && isLoop && !['thinking', 'redacted_thinking'].includes(first)
    },
    bad: [
      {
        thinking: { type: 'enabled' },
        messages: [
          { role: 'assistant', content: [CALL] },
          { role: 'user', content: [RESULT] },
        ],
      },
    ],
  },
  {
    title: 'results that do not come first',
    about: anyOfThem,
    finds: ({ messages }) =>
      itemsIn(messages).some((turn) =>
        blocksOf(turn).some(
          ({ type }, n, all) => type === 'tool_result' && n > 0 && all[n - 1]!.type !== 'tool_result',
        ),
      ),
    bad: [user(text('Hi'), RESULT)],
  },
  {
    title: 'calls without results, results without calls, or ids that come twice',
    about: anyOfThem,
    finds: ({ messages }) =>
      itemsIn(messages).some((turn, n, turns) => {
        const calls = idsOf(turn, 'tool_use', 'id')
        const results = idsOf(turn, 'tool_result', 'tool_use_id')
        const isUnanswered = calls.length > 0 && !areEqual(calls, idsOf(turns[n + 1], 'tool_result', 'tool_use_id'))
        const isUnasked = results.length > 0 && !areEqual(results, idsOf(turns[n - 1], 'tool_use', 'id'))
        return isUnanswered || isUnasked || new Set(calls).size < calls.length
      }),
    bad: [
      user(RESULT),
      { messages: [{ role: 'assistant', content: [CALL] }] },
      {
        messages: [
          { role: 'assistant', content: [CALL, CALL] },
          { role: 'user', content: [RESULT, RESULT] },
        ],
      },
    ],
  },
  {
    title: 'ids with other characters',
    about: anyOfThem,
    finds: (body) =>
      [...valuesIn(body)].some(
        ({ name, value, beside }) =>
          (name === 'tool_use_id' || (name === 'id' && beside.type === 'tool_use')) && !/^[\w-]+$/.test(textOf(value)),
      ),
    bad: [user({ ...CALL, id: 'a.b' }), user({ ...RESULT, tool_use_id: '' })],
  },
  {
    title: 'bounds in a schema that is held to',
    about: anyOfThem,
    finds: ({ tools, output_config }) =>
      hasBounds(fieldsIn(fieldsIn(output_config).format).schema) ||
      itemsIn(tools).some((tool) => tool.strict === true && hasBounds(tool.input_schema)),
    bad: [
      { output_config: { format: { schema: { properties: { a: { minimum: 1 } } } } } },
      { tools: [{ strict: true, input_schema: { $defs: { b: { maxLength: 1 } } } }] },
    ],
  },
  {
    title: 'a strict tool that is open',
    about: anyOfThem,
    finds: ({ tools }) =>
      itemsIn(tools).some((tool) => tool.strict === true && fieldsIn(tool.input_schema).additionalProperties !== false),
    bad: [{ tools: [{ strict: true, input_schema: { type: 'object' } }] }],
  },
  {
    title: 'a schema without its type',
    about: anyOfThem,
    finds: ({ tools }) => itemsIn(tools).some((tool) => fieldsIn(tool.input_schema).type !== 'object'),
    bad: [{ tools: [{ input_schema: {} }] }],
  },
  {
    title: 'more than four marks',
    about: anyOfThem,
    finds: (body) => [...valuesIn(body)].filter(({ name }) => name === 'cache_control').length > 4,
    bad: [user(...Array.from({ length: 5 }, (_, n) => ({ ...text(`${n}`), cache_control: { type: 'ephemeral' } })))],
  },
  {
    title: 'a stop of whitespace',
    about: anyOfThem,
    finds: ({ stop_sequences: stops }) => Array.isArray(stops) && (stops.length === 0 || stops.some(isBlankText)),
    bad: [{ stop_sequences: ['\n'] }, { stop_sequences: [] }],
  },
]
