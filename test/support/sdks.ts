/** The official SDKs as published, each made to do the same things, the way its own documentation says. */
import assert from 'node:assert/strict'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { AIMessageChunk, ChatMessage, HumanMessage, SystemMessage, type BaseMessage } from '@langchain/core/messages'
import { tool as langChainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { APICallError, generateObject, generateText, isStepCount, streamText, tool, type ModelMessage } from 'ai'
import OpenAI, { APIError } from 'openai'
import type {
  ChatCompletionCreateParams,
  ChatCompletionMessage,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { fieldsIn } from '../../src/rules/record.ts'

export interface Access {
  url: string
  /** The headers of the quick start, and more. */
  headers: Record<string, string>
  /** Both keys in one, for `Authorization`. Undefined: they are in the headers. */
  apiKey?: string | undefined
}

export interface Asked {
  model: string
  prompt: string
  isStreamed: boolean
  instructions?: string
  effort?: 'low'
}

export interface Said {
  text: string
  reasoning: string | undefined
}

export interface Sdk {
  name: string
  /** Where it asks for JSON. */
  formatField: 'response_format' | 'text.format'
  /** The role in which it sends the developer's instructions. */
  instructionRole: 'developer' | 'system'
  /** The fields of an answer's thoughts that it sends back, whole, in a loop of tools. */
  sendsBack: Record<'json' | 'stream', readonly ('reasoning_content' | 'reasoning_signature')[]>
  /** One question, one answer. */
  ask(access: Access, asked: Asked): Promise<Said>
  /** Offers the tool `look_up` until there is an answer. `run` is given the id of each call. */
  loop(access: Access, asked: Asked, run: (callId: string) => string): Promise<string>
  /** An object, held to `PLACE` by the model or, with any JSON, only by the SDK. */
  place(access: Access, model: string, prompt: string, by: 'schema' | 'any JSON'): Promise<unknown>
  /** The cached tokens that it reports of each turn. */
  converse(access: Access, model: string, instructions: string, questions: readonly string[]): AsyncGenerator<number>
  /** The status and message of an error, as its user sees them. */
  shown(error: unknown): { status: number | undefined; message: string }
}

export const PLACE = z.object({ city: z.string(), people: z.int() })
export const LOOKED_UP = z.object({ place: z.string() })
export const DESCRIPTION = 'Looks up a place.'
/** More than any loop needs. */
export const STEPS_MAX = 8

export const openai: Sdk = {
  name: 'openai',
  formatField: 'response_format',
  instructionRole: 'developer',
  // The helper for streams keeps the last piece of a field that it does not know, which a signature is as a whole.
  sendsBack: { json: ['reasoning_content', 'reasoning_signature'], stream: ['reasoning_signature'] },
  async ask(access, { model, prompt, isStreamed, instructions, effort }) {
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
    if (instructions !== undefined) messages.unshift({ role: 'developer', content: instructions })
    const body = { model, messages, ...(effort && { reasoning_effort: effort }) }
    const client = openAIClient(access)
    if (!isStreamed) {
      const [choice] = (await client.chat.completions.create(body)).choices
      assert.ok(choice)
      return { text: choice.message.content ?? '', reasoning: reasoningIn(choice.message) }
    }
    const said: Said = { text: '', reasoning: undefined }
    for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
      const delta = choices[0]?.delta
      said.text += delta?.content ?? ''
      const thought = reasoningIn(delta)
      if (thought !== undefined) said.reasoning = (said.reasoning ?? '') + thought
    }
    return said
  },
  loop: (access, asked, run) => openAILoop(access, asked, run, asked.isStreamed ? helpedStream : wholeAnswer),
  async place(access, model, prompt, by) {
    const { completions } = openAIClient(access).chat
    const body = { model, messages: [{ role: 'user' as const, content: prompt }] }
    if (by === 'any JSON') {
      const { choices } = await completions.create({ ...body, response_format: { type: 'json_object' } })
      return JSON.parse(choices[0]?.message.content ?? '') as unknown
    }
    const { choices } = await completions.parse({ ...body, response_format: zodResponseFormat(PLACE, 'place') })
    return choices[0]?.message.parsed
  },
  async *converse(access, model, instructions, questions) {
    const client = openAIClient(access)
    const messages: ChatCompletionMessageParam[] = [{ role: 'developer', content: instructions }]
    for (const content of questions) {
      messages.push({ role: 'user', content })
      const { choices, usage } = await client.chat.completions.create({ model, messages })
      if (choices[0]) messages.push(choices[0].message)
      yield usage?.prompt_tokens_details?.cached_tokens ?? 0
    }
  },
  shown(error) {
    assert.ok(error instanceof APIError, String(error))
    return { status: error.status, message: error.message }
  },
}

/** The same with a stream that its user puts together, so that nothing is lost. */
export const OPENAI_BY_HAND: Sdk = {
  ...openai,
  name: 'openai by hand',
  sendsBack: { ...openai.sendsBack, stream: openai.sendsBack.json },
  loop: (access, asked, run) => openAILoop(access, asked, run, streamByHand),
}

async function openAILoop(
  access: Access,
  { model, prompt, effort }: Asked,
  run: (callId: string) => string,
  answerTo: (client: OpenAI, body: OpenAIBody) => Promise<ChatCompletionMessage>,
): Promise<string> {
  const client = openAIClient(access)
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
  const look_up = { name: 'look_up', description: DESCRIPTION, parameters: z.toJSONSchema(LOOKED_UP) }
  const tools = [{ type: 'function' as const, function: look_up }]
  for (let step = 0; step < STEPS_MAX; step++) {
    const message = await answerTo(client, { model, messages, tools, ...(effort && { reasoning_effort: effort }) })
    if (!message.tool_calls?.length) return message.content ?? ''
    const results = message.tool_calls.map(({ id }): ChatCompletionMessageParam => ({
      role: 'tool',
      tool_call_id: id,
      content: run(id),
    }))
    // The answer is pushed back as it came, and the results in another order than the calls, as they may become ready.
    messages.push(message, ...results.toReversed())
  }
  return assert.fail('the loop did not end')
}

type OpenAIBody = Pick<ChatCompletionCreateParams, 'model' | 'messages' | 'tools' | 'reasoning_effort'>

export async function wholeAnswer(client: OpenAI, body: OpenAIBody): Promise<ChatCompletionMessage> {
  const { choices } = await client.chat.completions.create({ ...body, stream: false })
  return choices[0]?.message ?? assert.fail('nothing came')
}

function helpedStream(client: OpenAI, body: OpenAIBody): Promise<ChatCompletionMessage> {
  return client.chat.completions.stream({ ...body, stream: true }).finalMessage()
}

/** Adds up what the pieces say, field by field. */
async function streamByHand(client: OpenAI, body: OpenAIBody): Promise<ChatCompletionMessage> {
  const message: Record<string, string> = {}
  const calls: ChatCompletionMessageFunctionToolCall[] = []
  for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
    const { role: _, tool_calls: pieces = [], ...texts } = choices[0]?.delta ?? {}
    for (const [field, text] of Object.entries(texts))
      if (typeof text === 'string') message[field] = (message[field] ?? '') + text
    for (const { index, id = '', function: called } of pieces) {
      const call = (calls[index] ??= { id, type: 'function', function: { name: called?.name ?? '', arguments: '' } })
      call.function.arguments += called?.arguments ?? ''
    }
  }
  return { content: '', refusal: null, ...message, role: 'assistant', ...(calls.length > 0 && { tool_calls: calls }) }
}

export function openAIClient({ url, headers, apiKey }: Access): OpenAI {
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: apiKey ?? 'unused',
    maxRetries: 0,
    defaultHeaders: { ...headers, ...(apiKey === undefined && { Authorization: null }) },
  })
}

/** Its types do not know the field, and it is there. */
function reasoningIn(message: unknown): string | undefined {
  const { reasoning_content: reasoning } = fieldsIn(message)
  return typeof reasoning === 'string' ? reasoning : undefined
}

export const aiSdk: Sdk = {
  name: 'AI SDK',
  formatField: 'response_format',
  // It knows no other.
  instructionRole: 'system',
  sendsBack: { json: ['reasoning_content'], stream: ['reasoning_content'] },
  async ask(access, asked) {
    const call = aiSdkCall(access, asked)
    if (!asked.isStreamed) {
      const { text, reasoningText } = await generateText(call)
      return { text, reasoning: reasoningText }
    }
    // Promises of a stream that failed say only that there is no answer.
    const failures: unknown[] = []
    const result = streamText({ ...call, onError: ({ error }) => void failures.push(error) })
    await result.consumeStream()
    if (failures.length > 0) throw failures[0]
    return { text: await result.text, reasoning: await result.reasoningText }
  },
  async loop(access, asked, run) {
    const execute = (_: unknown, { toolCallId }: { toolCallId: string }) => run(toolCallId)
    const look_up = tool({ description: DESCRIPTION, inputSchema: LOOKED_UP, execute })
    const call = { ...aiSdkCall(access, asked), tools: { look_up }, stopWhen: isStepCount(STEPS_MAX) }
    const result = asked.isStreamed ? streamText(call) : await generateText(call)
    return result.text
  },
  async place(access, id, prompt, by) {
    const model = aiSdkModel(access, id, by === 'schema')
    const { object } = await generateObject({ model, prompt, schema: PLACE, maxRetries: 0 })
    return object
  },
  async *converse(access, model, instructions, questions) {
    const messages: ModelMessage[] = []
    for (const content of questions) {
      messages.push({ role: 'user', content })
      const { response, usage } = await generateText({
        model: aiSdkModel(access, model),
        instructions,
        messages,
        maxRetries: 0,
      })
      messages.push(...response.messages)
      yield usage.inputTokenDetails.cacheReadTokens ?? 0
    }
  },
  shown(error) {
    assert.ok(APICallError.isInstance(error), String(error))
    return { status: error.statusCode, message: error.message }
  },
}

/** Unless it is told that schemas are understood, it asks for any JSON. */
function aiSdkModel({ url, headers, apiKey }: Access, model: string, supportsStructuredOutputs = true) {
  const parley = createOpenAICompatible({
    name: 'parley',
    baseURL: `${url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs,
    headers,
    ...(apiKey !== undefined && { apiKey }),
  })
  return parley(model)
}

function aiSdkCall(access: Access, { model, prompt, instructions, effort }: Asked) {
  return {
    model: aiSdkModel(access, model),
    prompt,
    maxRetries: 0,
    ...(instructions !== undefined && { instructions }),
    ...(effort && { reasoning: effort }),
  }
}

export const langChain: Sdk = {
  name: 'LangChain',
  formatField: 'response_format',
  instructionRole: 'developer',
  sendsBack: { json: [], stream: [] },
  async ask(access, asked) {
    const model = langChainModel(access, asked.model, asked.effort)
    const messages: BaseMessage[] = [new HumanMessage(asked.prompt)]
    // A `{ role: 'developer' }` would become one of the role system.
    if (asked.instructions !== undefined) messages.unshift(new ChatMessage(asked.instructions, 'developer'))
    const answer = asked.isStreamed ? await whole(await model.stream(messages)) : await model.invoke(messages)
    return { text: answer.text, reasoning: answer.additional_kwargs.reasoning_content as string | undefined }
  },
  async loop(access, asked, run) {
    const lookUp = langChainTool((_, { toolCall }: { toolCall?: { id?: string } }) => run(toolCall?.id ?? ''), {
      name: 'look_up',
      description: DESCRIPTION,
      schema: LOOKED_UP,
    })
    const model = langChainModel(access, asked.model, asked.effort).bindTools([lookUp])
    const messages: BaseMessage[] = [new HumanMessage(asked.prompt)]
    for (let step = 0; step < STEPS_MAX; step++) {
      const reply = asked.isStreamed ? await whole(await model.stream(messages)) : await model.invoke(messages)
      if (!reply.tool_calls?.length) return reply.text
      messages.push(reply)
      for (const call of reply.tool_calls) messages.push(await lookUp.invoke({ ...call, type: 'tool_call' }))
    }
    return assert.fail('the loop did not end')
  },
  place(access, model, prompt, by) {
    const method = by === 'schema' ? 'jsonSchema' : 'jsonMode'
    return langChainModel(access, model).withStructuredOutput(PLACE, { name: 'place', method }).invoke(prompt)
  },
  async *converse(access, name, instructions, questions) {
    const model = langChainModel(access, name)
    const messages: BaseMessage[] = [new SystemMessage(instructions)]
    for (const question of questions) {
      messages.push(new HumanMessage(question))
      const answer = await model.invoke(messages)
      messages.push(answer)
      yield answer.usage_metadata?.input_token_details?.cache_read ?? 0
    }
  },
  shown(error) {
    assert.ok(error instanceof Error, String(error))
    return { status: (error as { status?: number }).status, message: error.message }
  },
}

function langChainModel({ url, headers, apiKey }: Access, model: string, effort?: string) {
  return new ChatOpenAI({
    model,
    apiKey: apiKey ?? 'unused',
    maxRetries: 0,
    // Its own option for it is sent only with models that are named like OpenAI's.
    ...(effort !== undefined && { modelKwargs: { reasoning_effort: effort } }),
    configuration: {
      baseURL: `${url}/v1`,
      defaultHeaders: { ...headers, ...(apiKey === undefined && { Authorization: null }) },
    },
  })
}

export async function whole(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let all: AIMessageChunk | undefined
  for await (const chunk of stream) all = all === undefined ? chunk : all.concat(chunk)
  return all ?? assert.fail('nothing came')
}

export const SDKS: readonly Sdk[] = [openai, aiSdk, langChain]
