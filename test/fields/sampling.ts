import { LONG } from './efforts.ts'
import { CLAUDE_NOT_MADE_TO_CALL, everywhere, GEMINI_3, refused, sees, TOOL, type Row } from './row.ts'

const SCHEMA = {
  type: 'object',
  properties: { age: { type: 'integer' } },
  required: ['age'],
  additionalProperties: false,
}
const BOUNDED = { ...SCHEMA, properties: { age: { type: 'integer', minimum: 1 } } }
const TOLD_IN_WORDS = { ...SCHEMA, properties: { age: { type: 'integer', description: 'minimum: 1' } } }
export const NOTHING = { type: 'object', properties: {}, additionalProperties: false }
const schemaFormat = (schema: object) => ({ type: 'json_schema', json_schema: { name: 'person', schema } })
const JSON_BESIDE_TOOLS = { tools: [TOOL], response_format: { type: 'json_object' } }
export const SCHEMA_WHILE_THINKING = {
  reasoning_effort: 'low',
  max_tokens: LONG,
  response_format: schemaFormat(NOTHING),
}

/** How an answer is drawn, how long it is and what form it has. */
export const SAMPLING: Row[] = [
  {
    field: 'temperature',
    does: 'How freely the model chooses its words, 0 to 2. 1 has no effect.',
    cases: [
      {
        name: 'up to 1',
        request: { temperature: 0.5 },
        openai: sees({ temperature: 0.5 }),
        anthropic: sees({ temperature: 0.5 }),
        gemini: sees({ 'generationConfig.temperature': 0.5 }),
        bedrock: sees({ 'inferenceConfig.temperature': 0.5 }),
      },
      {
        name: 'above 1',
        request: { temperature: 1.5 },
        openai: sees({ temperature: 1.5 }),
        anthropic: refused('temperature'),
        gemini: sees({ 'generationConfig.temperature': 1.5 }),
        bedrock: refused('temperature'),
      },
      {
        name: 'other than 1 on Claude 4.7 and newer',
        request: { temperature: 0.5 },
        models: { anthropic: 'claude-opus-4-7', bedrock: 'us.anthropic.claude-opus-4-7' },
        openai: sees({ temperature: 0.5 }),
        anthropic: refused('temperature'),
        gemini: sees({ 'generationConfig.temperature': 0.5 }),
        bedrock: refused('temperature'),
      },
      {
        name: 'other than 1 with `reasoning_effort`',
        isAside: true,
        request: { temperature: 0.5, reasoning_effort: 'low' },
        openai: sees({ reasoning_effort: 'low', temperature: 0.5 }),
        anthropic: refused('temperature'),
        gemini: sees({ 'generationConfig.temperature': 0.5 }),
        bedrock: refused('temperature'),
      },
    ],
  },
  {
    field: 'top_p',
    does: 'The share of likely words to choose from, 0 to 1. 1 has no effect.',
    cases: [
      {
        name: 'alone',
        request: { top_p: 0.5 },
        openai: sees({ top_p: 0.5 }),
        anthropic: sees({ top_p: 0.5 }),
        gemini: sees({ 'generationConfig.topP': 0.5 }),
        bedrock: sees({ 'inferenceConfig.topP': 0.5 }),
      },
      {
        name: 'with `temperature`',
        isAside: true,
        request: { top_p: 0.5, temperature: 0.5 },
        openai: sees({ top_p: 0.5, temperature: 0.5 }),
        anthropic: refused('top_p'),
        gemini: sees({ 'generationConfig.topP': 0.5, 'generationConfig.temperature': 0.5 }),
        bedrock: refused('top_p'),
      },
      {
        name: 'other than 1 on Claude 4.7 and newer',
        request: { top_p: 0.5 },
        models: { anthropic: 'claude-opus-4-7', bedrock: 'us.anthropic.claude-opus-4-7' },
        openai: sees({ top_p: 0.5 }),
        anthropic: refused('top_p'),
        gemini: sees({ 'generationConfig.topP': 0.5 }),
        bedrock: refused('top_p'),
      },
      {
        name: 'below 0.95 with `reasoning_effort`',
        isAside: true,
        request: { top_p: 0.94, reasoning_effort: 'low' },
        openai: sees({ reasoning_effort: 'low', top_p: 0.94 }),
        anthropic: refused('top_p'),
        gemini: sees({ 'generationConfig.topP': 0.94 }),
      },
      {
        name: 'other than 1 with `reasoning_effort`',
        isAside: true,
        request: { top_p: 0.95, reasoning_effort: 'low' },
        openai: sees({ reasoning_effort: 'low', top_p: 0.95 }),
        anthropic: sees({ top_p: 0.95, 'thinking.type': 'enabled' }),
        gemini: sees({ 'generationConfig.topP': 0.95 }),
        bedrock: refused('top_p'),
      },
    ],
  },
  {
    field: 'max_tokens',
    also: ['max_completion_tokens'],
    does: 'The longest answer, including thoughts. Both names mean the same.',
    cases: [
      ...['max_tokens', 'max_completion_tokens'].map((name) => ({
        name,
        request: { [name]: 50 },
        openai: sees({ max_completion_tokens: 50, max_tokens: undefined }),
        anthropic: sees({ max_tokens: 50 }),
        gemini: sees({ 'generationConfig.maxOutputTokens': 50 }),
        bedrock: sees({ 'inferenceConfig.maxTokens': 50 }),
      })),
      {
        name: 'two different values',
        request: { max_tokens: 50, max_completion_tokens: 60 },
        ...everywhere(refused('max_completion_tokens')),
      },
    ],
  },
  {
    field: 'stop',
    does: 'Text that ends the answer: one, or up to four.',
    cases: [
      {
        name: 'one text',
        request: { stop: 'END' },
        openai: sees({ stop: 'END' }),
        anthropic: sees({ stop_sequences: ['END'] }),
        gemini: sees({ 'generationConfig.stopSequences': ['END'] }),
        bedrock: sees({ 'inferenceConfig.stopSequences': ['END'] }),
      },
      {
        name: 'several texts',
        request: { stop: ['END', 'STOP', ''] },
        openai: sees({ stop: ['END', 'STOP'] }),
        anthropic: sees({ stop_sequences: ['END', 'STOP'] }),
        gemini: sees({ 'generationConfig.stopSequences': ['END', 'STOP'] }),
        bedrock: sees({ 'inferenceConfig.stopSequences': ['END', 'STOP'] }),
      },
      {
        name: 'nothing but whitespace',
        request: { stop: '\n\n' },
        openai: sees({ stop: '\n\n' }),
        anthropic: refused('stop'),
        gemini: sees({ 'generationConfig.stopSequences': ['\n\n'] }),
        bedrock: refused('stop'),
      },
      {
        name: "on OpenAI's models",
        request: { stop: 'END' },
        models: { bedrock: 'openai.gpt-oss-120b-1:0' },
        openai: sees({ stop: 'END' }),
        anthropic: sees({ stop_sequences: ['END'] }),
        gemini: sees({ 'generationConfig.stopSequences': ['END'] }),
        bedrock: refused('stop'),
      },
    ],
  },
  {
    field: 'seed',
    does: 'The same seed usually gives the same answer.',
    cases: [
      {
        name: 'of up to 31 bits',
        request: { seed: 7 },
        openai: sees({ seed: 7 }),
        anthropic: refused('seed'),
        gemini: sees({ 'generationConfig.seed': 7 }),
        bedrock: refused('seed'),
      },
      {
        name: 'more than 31 bits',
        request: { seed: 2 ** 40 },
        openai: sees({ seed: 2 ** 40 }),
        anthropic: refused('seed'),
        gemini: refused('seed'),
        bedrock: refused('seed'),
      },
    ],
  },
  ...(['presence', 'frequency'] as const).map((kind): Row => {
    const field = `${kind}_penalty`
    return {
      field,
      does: 'Against repetition, -2 to 2. 0 has no effect.',
      cases: [
        {
          name: 'on Gemini 2.5 and newer',
          request: { [field]: 0.5 },
          openai: sees({ [field]: 0.5 }),
          anthropic: refused(field),
          gemini: refused(field),
          bedrock: refused(field),
        },
        {
          name: 'on older ones',
          request: { [field]: 0.5 },
          models: { gemini: 'gemini-2.0-flash', vertex: 'gemini-2.0-flash' },
          openai: sees({ [field]: 0.5 }),
          anthropic: refused(field),
          gemini: sees({ [`generationConfig.${kind}Penalty`]: 0.5 }),
          bedrock: refused(field),
        },
      ],
    }
  }),
  {
    field: 'logit_bias',
    does: 'Makes single tokens more or less likely.',
    cases: [
      {
        name: 'any',
        request: { logit_bias: { 50256: -100 } },
        ...everywhere(refused('logit_bias')),
        openai: sees({ logit_bias: { 50256: -100 } }),
      },
    ],
  },
  {
    field: 'response_format',
    also: ['json_schema'],
    does: 'JSON of any form (`json_object`) or with a schema (`json_schema`). `text` has no effect.',
    cases: [
      {
        name: '`json_object`',
        request: { response_format: { type: 'json_object' } },
        openai: sees({ response_format: { type: 'json_object' } }),
        anthropic: refused('response_format'),
        gemini: sees({ 'generationConfig.responseMimeType': 'application/json' }),
        bedrock: refused('response_format'),
      },
      {
        name: '`json_schema`',
        request: { response_format: schemaFormat(SCHEMA) },
        openai: sees({ response_format: schemaFormat(SCHEMA) }),
        anthropic: sees({ 'output_config.format': { type: 'json_schema', schema: SCHEMA } }),
        gemini: sees({
          'generationConfig.responseMimeType': 'application/json',
          'generationConfig.responseJsonSchema': SCHEMA,
        }),
        bedrock: sees({ 'additionalModelRequestFields.output_config.format': { type: 'json_schema', schema: SCHEMA } }),
      },
      {
        name: 'a schema with bounds',
        request: { response_format: schemaFormat(BOUNDED) },
        openai: sees({ response_format: schemaFormat(BOUNDED) }),
        anthropic: sees({ 'output_config.format.schema': TOLD_IN_WORDS }),
        gemini: sees({ 'generationConfig.responseJsonSchema': BOUNDED }),
        bedrock: sees({ 'additionalModelRequestFields.output_config.format.type': 'json_schema' }),
      },
      {
        name: 'a schema whose objects allow more than they name',
        request: { response_format: schemaFormat({ type: 'object', properties: {} }) },
        openai: sees({ response_format: schemaFormat({ type: 'object', properties: {} }) }),
        anthropic: refused('response_format'),
        gemini: sees({ 'generationConfig.responseJsonSchema': { type: 'object', properties: {} } }),
        bedrock: sees({ 'additionalModelRequestFields.output_config.format.type': 'json_schema' }),
      },
      {
        name: '`json_schema` on Claude before 4.1',
        request: { response_format: schemaFormat(SCHEMA) },
        models: { anthropic: 'claude-sonnet-4-20250514', bedrock: 'us.anthropic.claude-sonnet-4-20250514-v1:0' },
        anthropic: refused('response_format'),
        bedrock: sees({ 'toolConfig.toolChoice': { any: {} } }),
      },
      ...CLAUDE_NOT_MADE_TO_CALL.map((model) => ({
        name: '`json_schema` on Claude 5.5 Opus and Sonnet, Fable 5.1',
        request: { response_format: schemaFormat(SCHEMA) },
        models: { bedrock: `us.anthropic.${model}-v1` },
        bedrock: refused('response_format'),
      })),
      {
        name: 'with `tools`, before Gemini 3',
        isAside: true,
        request: JSON_BESIDE_TOOLS,
        openai: sees(JSON_BESIDE_TOOLS),
        gemini: refused('response_format'),
      },
      {
        name: 'with `tools`, since Gemini 3',
        isAside: true,
        request: JSON_BESIDE_TOOLS,
        models: GEMINI_3,
        gemini: sees({ 'generationConfig.responseMimeType': 'application/json' }),
      },
      {
        name: 'with `tools`',
        isAside: true,
        request: { tools: [TOOL], response_format: schemaFormat(NOTHING) },
        openai: sees({ tools: [TOOL], 'response_format.type': 'json_schema' }),
        anthropic: sees({ 'tools.0.name': TOOL.function.name, 'output_config.format.schema': NOTHING }),
        bedrock: refused('response_format'),
      },
      ...['sonnet-4-20250514-v1:0', 'haiku-4-5-20251001-v1:0', 'sonnet-4-6', 'opus-4-7', 'sonnet-5-5-v1'].map(
        (model) => ({
          name: 'with `reasoning_effort`, except on Claude Opus 4.1 to 4.6 and Sonnet 4.5',
          isAside: true,
          request: SCHEMA_WHILE_THINKING,
          models: { bedrock: `us.anthropic.claude-${model}` },
          bedrock: refused('response_format'),
        }),
      ),
      {
        name: '`json_schema` without one',
        request: { response_format: { type: 'json_schema' } },
        ...everywhere(refused('response_format.json_schema')),
      },
    ],
  },
  {
    field: 'n',
    does: 'The number of answers: always 1.',
    cases: [
      { name: '1', request: { n: 1 }, ...everywhere(sees({ n: undefined })) },
      { name: 'more', request: { n: 2 }, ...everywhere(refused('n')) },
    ],
  },
]
