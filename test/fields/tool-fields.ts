import { CLAUDE_NOT_MADE_TO_CALL, everywhere, HELLO, refused, SAID, sees, TOOL, type Row } from './row.ts'

const { name, description, parameters } = TOOL.function
const FORCED = { type: 'function', function: { name } }
const CALL = { id: 'call_1', type: 'function', function: { name, arguments: '{"word":"tea"}' } }
const CALLED = { role: 'assistant', content: null, tool_calls: [CALL] }
const RESULT = { role: 'tool', tool_call_id: 'call_1', content: 'a drink' }
const CLOSED = { ...parameters, additionalProperties: false }
const STRICT = { ...TOOL, function: { ...TOOL.function, parameters: CLOSED, strict: true } }

/** The caller's own functions, and what became of their calls. */
export const TOOL_FIELDS: Row[] = [
  {
    field: 'tools',
    does: "The caller's functions, up to 128.",
    cases: [
      {
        name: 'functions',
        request: { tools: [TOOL], messages: [{ role: 'user', content: `${SAID} [[sim tool=look_up]]` }] },
        openai: sees({ tools: [TOOL] }, { answered: ['tool_calls'] }),
        anthropic: sees({ tools: [{ name, description, input_schema: parameters }] }, { answered: ['tool_calls'] }),
        gemini: sees(
          { 'tools.0.functionDeclarations': [{ name, description, parametersJsonSchema: parameters }] },
          { answered: ['tool_calls'] },
        ),
        bedrock: sees(
          { 'toolConfig.tools': [{ toolSpec: { name, description, inputSchema: { json: parameters } } }] },
          { answered: ['tool_calls'] },
        ),
      },
      {
        name: '`strict`',
        request: { tools: [STRICT] },
        openai: sees({ tools: [STRICT] }),
        anthropic: sees({ 'tools.0.strict': true, 'tools.0.input_schema': CLOSED }),
        gemini: sees({ 'toolConfig.functionCallingConfig.mode': 'VALIDATED' }),
        bedrock: sees({ 'toolConfig.tools.0.toolSpec.strict': true }),
      },
      {
        name: 'provider-run tools',
        request: { tools: [{ type: 'web_search' }] },
        ...everywhere(refused('tools[0].type')),
      },
      {
        name: 'leaving them out after tool calls',
        isAside: true,
        request: { messages: [HELLO, CALLED, RESULT] },
        openai: sees({ 'messages.2': RESULT }),
        anthropic: sees({ 'messages.2.content.0.type': 'tool_result' }),
        gemini: sees({ 'contents.2.parts.0.functionResponse.name': name }),
        bedrock: refused('tools'),
      },
    ],
  },
  {
    field: 'tool_choice',
    does: 'Whether the model may, must or must not call a tool, or which one. `auto` has no effect.',
    cases: [
      {
        name: '`required`',
        request: { tools: [TOOL], tool_choice: 'required' },
        openai: sees({ tool_choice: 'required' }),
        anthropic: sees({ tool_choice: { type: 'any' } }),
        gemini: sees({ 'toolConfig.functionCallingConfig': { mode: 'ANY' } }),
        bedrock: sees({ 'toolConfig.toolChoice': { any: {} } }),
      },
      {
        name: 'a function by name',
        request: { tools: [TOOL], tool_choice: FORCED },
        openai: sees({ tool_choice: FORCED }),
        anthropic: sees({ tool_choice: { type: 'tool', name } }),
        gemini: sees({ 'toolConfig.functionCallingConfig': { mode: 'ANY', allowedFunctionNames: [name] } }),
        bedrock: sees({ 'toolConfig.toolChoice': { tool: { name } } }),
      },
      {
        name: '`none`',
        request: { tools: [TOOL], tool_choice: 'none' },
        openai: sees({ tool_choice: 'none' }),
        anthropic: sees({ tool_choice: { type: 'none' } }),
        gemini: sees({ 'toolConfig.functionCallingConfig': { mode: 'NONE' } }),
        bedrock: sees({ toolConfig: undefined }),
      },
      {
        name: '`none` after tool calls',
        request: { tools: [TOOL], tool_choice: 'none', messages: [HELLO, CALLED, RESULT] },
        openai: sees({ tool_choice: 'none' }),
        anthropic: sees({ tool_choice: { type: 'none' } }),
        gemini: sees({ 'toolConfig.functionCallingConfig': { mode: 'NONE' } }),
        bedrock: refused('tool_choice'),
      },
      ...CLAUDE_NOT_MADE_TO_CALL.map((model) => ({
        name: 'a forced call, on Claude 5.5 Opus and Sonnet, Fable 5.1',
        request: { tools: [TOOL], tool_choice: 'required' },
        models: { anthropic: model, bedrock: `us.anthropic.${model}-v1` },
        anthropic: refused('tool_choice'),
        bedrock: refused('tool_choice'),
      })),
      {
        name: 'a forced call, with `reasoning_effort`',
        isAside: true,
        request: { tools: [TOOL], tool_choice: 'required', reasoning_effort: 'low' },
        openai: sees({ reasoning_effort: 'low', tool_choice: 'required' }),
        anthropic: refused('tool_choice'),
        gemini: sees({ 'toolConfig.functionCallingConfig': { mode: 'ANY' } }),
        bedrock: refused('tool_choice'),
      },
      {
        name: 'a function that is not in `tools`',
        request: { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'other' } } },
        ...everywhere(refused('tool_choice')),
      },
      {
        name: 'a forced call, without `tools`',
        request: { tool_choice: 'required' },
        ...everywhere(refused('tool_choice')),
      },
    ],
  },
  {
    field: 'parallel_tool_calls',
    does: '`false`: one call at a time. `true` has no effect.',
    cases: [
      {
        name: '`false`',
        request: { tools: [TOOL], parallel_tool_calls: false },
        openai: sees({ parallel_tool_calls: false }),
        anthropic: sees({ tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
        gemini: refused('parallel_tool_calls'),
        bedrock: refused('parallel_tool_calls'),
      },
    ],
  },
  {
    field: 'messages: tool',
    also: ['messages'],
    does: 'The result of a tool, with the `tool_call_id` of its call.',
    cases: [
      {
        name: 'results',
        request: { tools: [TOOL], messages: [HELLO, CALLED, RESULT] },
        openai: sees({ 'messages.1.tool_calls': [CALL], 'messages.2': RESULT }),
        anthropic: sees({
          'messages.1.content': [{ type: 'tool_use', id: 'call_1', name, input: { word: 'tea' } }],
          'messages.2.content': [
            { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'a drink' }] },
          ],
        }),
        gemini: sees({
          'contents.1.parts.0.functionCall': { id: 'call_1', name, args: { word: 'tea' } },
          'contents.2.parts.0.functionResponse': { id: 'call_1', name, response: { result: 'a drink' } },
        }),
        vertex: sees({
          'contents.1.parts.0.functionCall': { name, args: { word: 'tea' } },
          'contents.2.parts.0.functionResponse': { name, response: { result: 'a drink' } },
        }),
        bedrock: sees({
          'messages.1.content.0.toolUse': { toolUseId: 'call_1', name, input: { word: 'tea' } },
          'messages.2.content.0.toolResult': { toolUseId: 'call_1', content: [{ text: 'a drink' }] },
        }),
      },
      {
        name: 'an answer without calls, as SDKs write it',
        isAside: true,
        request: {
          messages: [HELLO, { role: 'assistant', content: 'Yes?', tool_calls: null, refusal: null }, HELLO],
        },
        openai: sees({ 'messages.1': { role: 'assistant', content: 'Yes?' } }),
        anthropic: sees({ 'messages.1.content': [{ type: 'text', text: 'Yes?' }] }),
        gemini: sees({ 'contents.1.parts': [{ text: 'Yes?' }] }),
        bedrock: sees({ 'messages.1.content': [{ text: 'Yes?' }] }),
      },
    ],
  },
]
