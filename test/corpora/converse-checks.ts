import { fieldsIn } from '../../src/rules/record.ts'
import { areEqual, hasBounds, isBlankText, itemsIn, textOf, valuesIn, type Check } from './check.ts'
import type { Fields } from './requests.ts'

/** Checks for the requests that Bedrock's Converse API refuses. */

const anyOfThem: Check['about'] = ({ type }) => type === 'converse'
const ofClaude: Check['about'] = ({ type, model }) => type === 'converse' && model.includes('anthropic')
const ofClaude46: Check['about'] = ({ type, model }) => type === 'converse' && model.includes('opus-4-6')
const ofOpenAI: Check['about'] = ({ type, model }) => type === 'converse' && model.startsWith('openai.')

const turn = (role: string, ...content: Fields[]): Fields => ({ role, content })
const CALL = { toolUse: { toolUseId: 'a', name: 'f', input: {} } }
const RESULT = { toolResult: { toolUseId: 'a', content: [] } }

function idsIn(message: Fields | undefined, kind: 'toolUse' | 'toolResult'): unknown[] {
  const blocks = itemsIn(message?.content).filter((block) => kind in block)
  return blocks.map((block) => textOf(fieldsIn(block[kind]).toolUseId)).toSorted()
}

function thinkingIn({ additionalModelRequestFields: fields }: Fields): Fields {
  return fieldsIn(fieldsIn(fields).thinking)
}

export const CONVERSE_CHECKS: readonly Check[] = [
  {
    title: 'no turn, or one that says nothing',
    about: anyOfThem,
    finds: ({ messages }) =>
      itemsIn(messages).length === 0 || itemsIn(messages).some(({ content }) => itemsIn(content).length === 0),
    bad: [{ messages: [] }, { messages: [turn('user')] }],
  },
  {
    title: 'a text of whitespace',
    about: anyOfThem,
    finds: (body) => [...valuesIn(body)].some(({ name, value }) => name === 'text' && isBlankText(value)),
    bad: [{ messages: [turn('user', { text: ' ' })] }],
  },
  {
    title: 'a document without words, or with a name of other characters',
    about: anyOfThem,
    finds: ({ messages }) =>
      itemsIn(messages).some(({ content }) => {
        const documents = itemsIn(content).filter((block) => 'document' in block)
        const isMisnamed = documents.some(({ document }) => !/^[\w\s()[\]-]+$/.test(textOf(fieldsIn(document).name)))
        return isMisnamed || (documents.length > 0 && !itemsIn(content).some((block) => 'text' in block))
      }),
    bad: [
      { messages: [turn('user', { document: { name: 'a' } })] },
      { messages: [turn('user', { document: { name: 'a.pdf' } }, { text: 'Hi' })] },
    ],
  },
  {
    title: 'calls without results, results without calls, or ids that come twice',
    about: anyOfThem,
    finds: ({ messages }) =>
      itemsIn(messages).some((message, n, all) => {
        const calls = idsIn(message, 'toolUse')
        const results = idsIn(message, 'toolResult')
        const isUnanswered = calls.length > 0 && !areEqual(calls, idsIn(all[n + 1], 'toolResult'))
        const isUnasked = results.length > 0 && !areEqual(results, idsIn(all[n - 1], 'toolUse'))
        return isUnanswered || isUnasked || new Set(calls).size < calls.length
      }),
    bad: [
      { messages: [turn('user', RESULT)] },
      { messages: [turn('assistant', CALL)] },
      { messages: [turn('assistant', CALL, CALL), turn('user', RESULT, RESULT)] },
    ],
  },
  {
    title: 'ids that are too long, or have other characters',
    about: anyOfThem,
    finds: (body) =>
      [...valuesIn(body)].some(({ name, value }) => name === 'toolUseId' && !/^[\w-]{1,64}$/.test(textOf(value))),
    bad: [{ messages: [turn('assistant', { toolUse: { toolUseId: 'a.b' } })] }],
  },
  {
    title: 'turns with tools, and no tools',
    about: anyOfThem,
    finds: ({ messages, toolConfig }) =>
      toolConfig === undefined && itemsIn(messages).some((message) => idsIn(message, 'toolUse').length > 0),
    bad: [{ messages: [turn('assistant', CALL)] }],
  },
  {
    title: 'bounds in a schema that is held to',
    about: anyOfThem,
    finds: ({ toolConfig, additionalModelRequestFields: fields }) => {
      const { format } = fieldsIn(fieldsIn(fieldsIn(fields).output_config))
      const specs = itemsIn(fieldsIn(toolConfig).tools).map(({ toolSpec }) => fieldsIn(toolSpec))
      const held = specs.filter(({ strict }) => strict === true).map((spec) => fieldsIn(spec.inputSchema).json)
      return [fieldsIn(format).schema, ...held].some(hasBounds)
    },
    bad: [
      { toolConfig: { tools: [{ toolSpec: { strict: true, inputSchema: { json: { maxLength: 1 } } } }] } },
      { additionalModelRequestFields: { output_config: { format: { schema: { items: { minimum: 1 } } } } } },
    ],
  },
  {
    title: 'a temperature above one',
    about: anyOfThem,
    finds: ({ inferenceConfig }) => Number(fieldsIn(inferenceConfig).temperature ?? 0) > 1,
    bad: [{ inferenceConfig: { temperature: 1.5 } }],
  },
  {
    title: 'temperature and top_p together, or beside thoughts',
    about: ofClaude,
    finds: (body) => {
      const { temperature, topP } = fieldsIn(body.inferenceConfig)
      const given = [temperature, topP].filter((value) => value !== undefined)
      return given.length > 1 || (temperature !== undefined && thinkingIn(body).type !== undefined)
    },
    bad: [
      { inferenceConfig: { temperature: 1, topP: 1 } },
      { inferenceConfig: { temperature: 0 }, additionalModelRequestFields: { thinking: { type: 'adaptive' } } },
    ],
  },
  {
    title: 'a budget that leaves nothing',
    about: ofClaude,
    finds: (body) => {
      const { budget_tokens: budget } = thinkingIn(body)
      return budget !== undefined && !(Number(budget) < Number(fieldsIn(body.inferenceConfig).maxTokens))
    },
    bad: [
      {
        inferenceConfig: { maxTokens: 2_000 },
        additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2_000 } },
      },
    ],
  },
  {
    title: 'an answer to go on from, since 4.6',
    about: ofClaude46,
    finds: ({ messages }) => itemsIn(messages).at(-1)?.role === 'assistant',
    bad: [{ messages: [turn('assistant', { text: 'Hello' })] }],
  },
  {
    title: 'a stop of whitespace',
    about: ofClaude,
    finds: ({ inferenceConfig }) => {
      const { stopSequences: stops } = fieldsIn(inferenceConfig)
      return Array.isArray(stops) && (stops.length === 0 || stops.some(isBlankText))
    },
    bad: [{ inferenceConfig: { stopSequences: ['\n'] } }],
  },
  {
    title: 'stops of OpenAI’s models',
    about: ofOpenAI,
    finds: ({ inferenceConfig }) => 'stopSequences' in fieldsIn(inferenceConfig),
    bad: [{ inferenceConfig: { stopSequences: ['END'] } }],
  },
]
