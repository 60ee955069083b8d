/** The official SDKs once more, each by way of the Responses API. */
import assert from 'node:assert/strict'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatMessage, HumanMessage, SystemMessage, type BaseMessage } from '@langchain/core/messages'
import { tool as langChainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { generateObject, generateText, isStepCount, streamText, tool, type ModelMessage } from 'ai'
import type OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
} from 'openai/resources/responses/responses'
import { z } from 'zod'
import {
  aiSdk,
  DESCRIPTION,
  langChain,
  LOOKED_UP,
  openai,
  openAIClient,
  PLACE,
  STEPS_MAX,
  whole,
  type Access,
  type Asked,
  type Said,
  type Sdk,
} from './sdks.ts'

const KEPT = ['reasoning_content', 'reasoning_signature'] as const
const TEXT_FORMAT = 'text.format'

const openAIResponses: Sdk = {
  ...openai,
  name: 'openai responses',
  formatField: TEXT_FORMAT,
  // As its field `instructions`.
  instructionRole: 'system',
  sendsBack: { json: KEPT, stream: KEPT },
  async ask(access, { model, prompt, isStreamed, instructions, effort }) {
    const body = { model, input: prompt, ...(instructions !== undefined && { instructions }), ...thinking(effort) }
    return saidIn(await responseTo(openAIClient(access), body, isStreamed))
  },
  async loop(access, { model, prompt, effort, isStreamed }, run) {
    const client = openAIClient(access)
    const input: ResponseInputItem[] = [{ role: 'user', content: prompt }]
    const parameters = z.toJSONSchema(LOOKED_UP)
    const tools = [{ type: 'function' as const, name: 'look_up', description: DESCRIPTION, parameters, strict: false }]
    const include = ['reasoning.encrypted_content' as const]
    for (let step = 0; step < STEPS_MAX; step++) {
      const body = { model, input, tools, include, ...thinking(effort) }
      const { output, output_text: text } = await responseTo(client, body, isStreamed)
      const calls = output.filter((item) => item.type === 'function_call')
      if (calls.length === 0) return text
      const results = calls.map(({ call_id }): ResponseInputItem => {
        return { type: 'function_call_output', call_id, output: run(call_id) }
      })
      input.push(...(output as ResponseInputItem[]), ...results.toReversed())
    }
    return assert.fail('the loop did not end')
  },
  async place(access, model, prompt, by) {
    const { responses } = openAIClient(access)
    if (by === 'any JSON') {
      const answer = await responses.create({ model, input: prompt, text: { format: { type: 'json_object' } } })
      return JSON.parse(answer.output_text) as unknown
    }
    const format = zodTextFormat(PLACE, 'place')
    return (await responses.parse({ model, input: prompt, text: { format } })).output_parsed
  },
  async *converse(access, model, instructions, questions) {
    const client = openAIClient(access)
    const input: ResponseInputItem[] = []
    for (const content of questions) {
      input.push({ role: 'user', content })
      const { output, usage } = await client.responses.create({ model, instructions, input })
      input.push(...(output as ResponseInputItem[]))
      yield usage?.input_tokens_details.cached_tokens ?? 0
    }
  },
}

function thinking(effort: Asked['effort']) {
  return effort === undefined ? {} : { reasoning: { effort, summary: 'auto' as const } }
}

function responseTo(client: OpenAI, body: ResponseCreateParamsNonStreaming, isStreamed: boolean): Promise<Response> {
  if (!isStreamed) return client.responses.create(body)
  return client.responses.stream({ ...body, stream: true }).finalResponse()
}

function saidIn({ output, output_text: text }: Response): Said {
  const thoughts = output.flatMap((item) => (item.type === 'reasoning' ? item.summary.map((part) => part.text) : []))
  return { text, reasoning: thoughts.length === 0 ? undefined : thoughts.join('') }
}

/** `store: false` is what keeps it from referring to answers that it takes to be stored. */
const STATELESS = { store: false, reasoningSummary: 'auto' }

const aiSdkResponses: Sdk = {
  ...aiSdk,
  name: 'AI SDK responses',
  formatField: TEXT_FORMAT,
  sendsBack: { json: KEPT, stream: KEPT },
  async ask(access, asked) {
    const call = aiSdkCall(access, asked)
    if (!asked.isStreamed) {
      const { text, reasoningText } = await generateText(call)
      return { text, reasoning: reasoningText }
    }
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
    const call = { model: aiSdkModel(access, id), prompt, maxRetries: 0 }
    if (by === 'schema') return (await generateObject({ ...call, schema: PLACE })).object
    return (await generateObject({ ...call, output: 'no-schema' })).object
  },
  async *converse(access, id, instructions, questions) {
    const messages: ModelMessage[] = []
    for (const content of questions) {
      messages.push({ role: 'user', content })
      const { response, usage } = await generateText({
        model: aiSdkModel(access, id),
        instructions,
        messages,
        maxRetries: 0,
        providerOptions: { openai: STATELESS },
      })
      messages.push(...response.messages)
      yield usage.inputTokenDetails.cacheReadTokens ?? 0
    }
  },
}

export function aiSdkModel({ url, headers, apiKey = 'unused' }: Access, model: string) {
  return createOpenAI({ baseURL: `${url}/v1`, apiKey, headers })(model)
}

/** It knows by their names which models think, and has to be told of others. */
function aiSdkCall(access: Access, { model, prompt, instructions, effort }: Asked) {
  const thoughtful = effort === undefined ? {} : { forceReasoning: true, reasoningEffort: effort }
  return {
    model: aiSdkModel(access, model),
    prompt,
    maxRetries: 0,
    providerOptions: { openai: { ...STATELESS, ...thoughtful } },
    ...(instructions !== undefined && { instructions }),
  }
}

const langChainResponses: Sdk = {
  ...langChain,
  name: 'LangChain responses',
  formatField: TEXT_FORMAT,
  sendsBack: { json: KEPT, stream: KEPT },
  async ask(access, asked) {
    const model = langChainModel(access, asked.model, asked.effort)
    const messages: BaseMessage[] = [new HumanMessage(asked.prompt)]
    if (asked.instructions !== undefined) messages.unshift(new ChatMessage(asked.instructions, 'developer'))
    const answer = asked.isStreamed ? await whole(await model.stream(messages)) : await model.invoke(messages)
    const { reasoning } = answer.additional_kwargs as { reasoning?: { summary: { text: string }[] } }
    return { text: answer.text, reasoning: reasoning?.summary.map(({ text }) => text).join('') }
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
}

/** `zdrEnabled`: it then says that nothing is to be stored, and is given what it needs to go on. */
function langChainModel({ url, headers, apiKey }: Access, model: string, effort?: Asked['effort']) {
  return new ChatOpenAI({
    model,
    useResponsesApi: true,
    apiKey: apiKey ?? 'unused',
    maxRetries: 0,
    ...(effort !== undefined && { zdrEnabled: true, modelKwargs: thinking(effort) }),
    configuration: {
      baseURL: `${url}/v1`,
      defaultHeaders: { ...headers, ...(apiKey === undefined && { Authorization: null }) },
    },
  })
}

export const RESPONSES_SDKS: readonly Sdk[] = [openAIResponses, aiSdkResponses, langChainResponses]
