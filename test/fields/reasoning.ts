import { A_THOUGHT } from '../../simulator/claude.ts'
import { EFFORT_CASES, LONG } from './efforts.ts'
import { everywhere, HELLO, keeps, refused, SAID, sees, TOOL, type Row } from './row.ts'
import { NOTHING, SCHEMA_WHILE_THINKING } from './sampling.ts'

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
const WITHOUT_THOUGHTS = sees({
  'messages.1.reasoning_content': undefined,
  'messages.1.reasoning_signature': undefined,
})

/** How hard a model thinks, what stands against it, and how its thoughts come back to it. */
export const REASONING: Row[] = [
  {
    field: 'reasoning_effort',
    does: 'How hard the model thinks: [by model](#reasoning_effort-by-model). Claude then accepts no other `temperature`, no low `top_p`, no forced tool call and no words to continue from.',
    cases: [
      ...EFFORT_CASES,
      {
        name: 'beside a schema',
        isAside: true,
        request: SCHEMA_WHILE_THINKING,
        openai: sees({ reasoning_effort: 'low', 'response_format.type': 'json_schema' }),
        anthropic: sees({ 'thinking.budget_tokens': 1_024, 'output_config.format.type': 'json_schema' }),
        gemini: sees({
          'generationConfig.thinkingConfig.thinkingBudget': 1_024,
          'generationConfig.responseJsonSchema': NOTHING,
        }),
        bedrock: sees({
          [`${MODEL_FIELDS}.thinking.budget_tokens`]: 1_024,
          [`${MODEL_FIELDS}.output_config.format.type`]: 'json_schema',
        }),
      },
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
        name: 'with too small a maximum, on Claude up to 4.5',
        isAside: true,
        request: { reasoning_effort: 'low', max_tokens: 1_000 },
        openai: sees({ reasoning_effort: 'low', max_completion_tokens: 1_000 }),
        anthropic: refused('reasoning_effort'),
        gemini: sees({ 'generationConfig.maxOutputTokens': 1_000 }),
        bedrock: refused('reasoning_effort'),
      },
    ],
  },
  {
    field: 'reasoning_content, reasoning_signature',
    does: 'Thoughts, and their proof. Send both back unchanged with the tool results; thoughts of earlier turns are left out.',
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
