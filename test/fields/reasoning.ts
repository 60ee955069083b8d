import { A_THOUGHT } from '../../simulator/claude.ts'
import { EFFORT_CASES, LONG } from './efforts.ts'
import { everywhere, HELLO, keeps, refused, SAID, sees, TOOL, type Row } from './row.ts'

const NEWER = {
  anthropic: 'claude-opus-4-6',
  gemini: 'gemini-3-flash-preview',
  vertex: 'gemini-3-flash-preview',
  bedrock: 'us.anthropic.claude-opus-4-6-v1',
}
/** The simulator signs each answer otherwise, and each time in its own name. */
const SIGNATURE = /^c2ltdWxhdGVk/
const CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"word":"tea"}' } }
const OLD = 'what I thought before'
const ELSEWHERE = 'elsewhere.c2lnbmVk'
const MODEL_FIELDS = 'additionalModelRequestFields'

const LOOP = {
  tools: [TOOL],
  reasoning_effort: 'high',
  max_tokens: LONG,
  messages: [{ role: 'user', content: `${SAID} [[sim tool=look_up]]` }],
}
const SCHEMA = { type: 'object', properties: {}, additionalProperties: false }
const BESIDE_SCHEMA = {
  reasoning_effort: 'low',
  max_tokens: LONG,
  response_format: { type: 'json_schema', json_schema: { name: 'nothing', schema: SCHEMA } },
}

const WITHOUT_THOUGHTS = sees({
  'messages.1.reasoning_content': undefined,
  'messages.1.reasoning_signature': undefined,
})

/** How hard a model thinks, what stands against it, and how its thoughts come back to it. */
export const REASONING: Row[] = [
  {
    field: 'reasoning_effort',
    does: 'How hard the model thinks; by model, see below. Claude then takes no other temperature and no tool that it must call.',
    cases: [
      ...EFFORT_CASES,
      {
        name: 'beside a schema',
        isAside: true,
        request: BESIDE_SCHEMA,
        openai: sees({ reasoning_effort: 'low', 'response_format.type': 'json_schema' }),
        anthropic: sees({ 'thinking.budget_tokens': 1_024, 'output_config.format.type': 'json_schema' }),
        gemini: sees({
          'generationConfig.thinkingConfig.thinkingBudget': 1_024,
          'generationConfig.responseJsonSchema': SCHEMA,
        }),
        bedrock: sees({
          [`${MODEL_FIELDS}.thinking.budget_tokens`]: 1_024,
          [`${MODEL_FIELDS}.output_config.format.type`]: 'json_schema',
        }),
      },
      ...['sonnet-4-20250514-v1:0', 'haiku-4-5-20251001-v1:0', 'sonnet-4-6', 'opus-4-7', 'sonnet-5-5-v1'].map(
        (model) => ({
          name: 'beside a schema on models that hold to one by a tool',
          isAside: true,
          request: BESIDE_SCHEMA,
          models: { bedrock: `us.anthropic.claude-${model}` },
          bedrock: refused('response_format'),
        }),
      ),
      {
        name: 'without a maximum',
        isAside: true,
        request: { reasoning_effort: 'medium' },
        openai: sees({ reasoning_effort: 'medium' }),
        anthropic: sees({ 'thinking.budget_tokens': 8_192 }),
        gemini: sees({ 'generationConfig.thinkingConfig.thinkingBudget': 8_192 }),
        bedrock: sees({ [`${MODEL_FIELDS}.thinking.budget_tokens`]: 8_192 }),
      },
      {
        name: 'with a maximum that leaves no room',
        isAside: true,
        request: { reasoning_effort: 'low', max_tokens: 1_000 },
        openai: sees({ reasoning_effort: 'low', max_completion_tokens: 1_000 }),
        anthropic: refused('reasoning_effort'),
        gemini: sees({ 'generationConfig.maxOutputTokens': 1_000 }),
        bedrock: refused('reasoning_effort'),
      },
      {
        name: 'beside another temperature',
        isAside: true,
        request: { reasoning_effort: 'low', temperature: 0.5 },
        openai: sees({ reasoning_effort: 'low', temperature: 0.5 }),
        anthropic: refused('temperature'),
        gemini: sees({ 'generationConfig.temperature': 0.5 }),
        bedrock: refused('temperature'),
      },
      {
        name: 'beside `top_p` of at least 0.95',
        isAside: true,
        request: { reasoning_effort: 'low', top_p: 0.97 },
        openai: sees({ reasoning_effort: 'low', top_p: 0.97 }),
        anthropic: sees({ top_p: 0.97, 'thinking.type': 'enabled' }),
        gemini: sees({ 'generationConfig.topP': 0.97 }),
        bedrock: refused('top_p'),
      },
      {
        name: 'beside a tool that must be called',
        isAside: true,
        request: { reasoning_effort: 'low', tools: [TOOL], tool_choice: 'required' },
        openai: sees({ reasoning_effort: 'low', tool_choice: 'required' }),
        anthropic: refused('tool_choice'),
        gemini: sees({ 'toolConfig.functionCallingConfig': { mode: 'ANY' } }),
        bedrock: refused('tool_choice'),
      },
      {
        name: 'beside words to go on from',
        isAside: true,
        request: { reasoning_effort: 'low', messages: [HELLO, { role: 'assistant', content: 'Well,' }] },
        openai: sees({ reasoning_effort: 'low' }),
        anthropic: refused('messages that end with one of the assistant'),
        gemini: sees({ 'contents.1.role': 'model' }),
        bedrock: refused('messages that end with one of the assistant'),
      },
    ],
  },
  {
    field: 'reasoning_content, reasoning_signature',
    does: 'Thoughts, and what proves them. Send back both as they came with the results of tools; those of earlier turns are left out.',
    cases: [
      {
        name: 'with the results of tools',
        request: LOOP,
        isToolLoop: true,
        openai: WITHOUT_THOUGHTS,
        anthropic: sees({
          'messages.1.content.0.thinking': A_THOUGHT,
          'messages.1.content.0.signature': SIGNATURE,
          'thinking.type': 'enabled',
        }),
        gemini: sees({ 'contents.1.parts.0.thoughtSignature': SIGNATURE }),
        bedrock: sees({
          'messages.1.content.0.reasoningContent.reasoningText.text': A_THOUGHT,
          'messages.1.content.0.reasoningContent.reasoningText.signature': SIGNATURE,
          [`${MODEL_FIELDS}.thinking.type`]: 'enabled',
        }),
      },
      {
        name: 'with the results of tools, newer models',
        request: LOOP,
        isToolLoop: true,
        models: NEWER,
        anthropic: sees({
          'messages.1.content.0.thinking': A_THOUGHT,
          'messages.1.content.0.signature': SIGNATURE,
          'thinking.type': 'adaptive',
        }),
        gemini: sees({ 'contents.1.parts.0.thoughtSignature': SIGNATURE }),
        bedrock: sees({
          'messages.1.content.0.reasoningContent.reasoningText.text': A_THOUGHT,
          'messages.1.content.0.reasoningContent.reasoningText.signature': SIGNATURE,
          [`${MODEL_FIELDS}.thinking.type`]: 'adaptive',
        }),
      },
      {
        name: "another provider's",
        request: {
          tools: [TOOL],
          reasoning_effort: 'high',
          max_tokens: LONG,
          messages: [
            HELLO,
            { role: 'assistant', tool_calls: [CALL], reasoning_content: OLD, reasoning_signature: ELSEWHERE },
            { role: 'tool', tool_call_id: 'call_1', content: 'a drink' },
          ],
        },
        models: { gemini: NEWER.gemini, vertex: NEWER.vertex },
        openai: keeps(ELSEWHERE, { 'messages.1.reasoning_content': undefined }),
        anthropic: { ...keeps(ELSEWHERE, { thinking: undefined }), never: [ELSEWHERE, OLD] },
        gemini: keeps(ELSEWHERE, { 'contents.1.parts.0.thoughtSignature': 'skip_thought_signature_validator' }),
        bedrock: keeps(ELSEWHERE, { [`${MODEL_FIELDS}.thinking`]: undefined }),
      },
      {
        name: 'of earlier turns',
        request: {
          reasoning_effort: 'low',
          messages: [HELLO, { role: 'assistant', content: 'Yes?', reasoning_content: OLD }, HELLO],
        },
        ...everywhere(keeps(OLD)),
      },
    ],
  },
]
