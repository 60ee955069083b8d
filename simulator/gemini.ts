/** Google's generateContent wire format. A stream has no end marker: its last event gives the reason to finish. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Answer, ChatRequest, Dialect, ReportedUsage, StreamEvent } from './dialect.ts'
import { checkContents } from './gemini-contents.ts'
import { assertNamesKnown, checkGeneration } from './gemini-generation.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { textOf } from './reply.ts'
import type { Tool } from './reply.ts'
import { signatureOf } from './thinking.ts'

export const gemini: Dialect = {
  format: 'gemini',
  idPrefix: 'gemini-sim-',
  serves: (method, path) => method === 'POST' && METHOD.test(path),
  credentialIn,
  refusalOfKey,
  read,
  caching: ({ tools }, { messages, model }) => {
    const tokensMin = /\bpro\b/.test(model) ? 4_096 : 2_048
    return { kind: 'automatic', tokensMin, messages, routedBy: JSON.stringify([tools]) }
  },
  errorBody,
  json,
  events,
}

const METHOD = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/
const FINISH_REASONS = { stop: 'STOP', length: 'MAX_TOKENS', tool: 'STOP' } as const
const KEY_INVALID = 'API key not valid. Please pass a valid API key.'

function credentialIn(headers: IncomingHttpHeaders, url: string): string | undefined {
  const key = headers['x-goog-api-key'] ?? new URLSearchParams(url.split('?')[1]).get('key')
  return key === null ? undefined : String(key)
}

function refusalOfKey(credential: string | undefined): Refusal | undefined {
  if (credential === undefined) return new Refusal(403, "Method doesn't allow unregistered callers")
  return credential.includes('bad-key') ? new Refusal(400, KEY_INVALID) : undefined
}

/** Google refuses a name that it does not know, wherever it stands. */
const BODY_FIELDS = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'generationConfig',
  'cachedContent',
])
const MODES = new Set<unknown>(['AUTO', 'ANY', 'NONE', 'VALIDATED'])

function read(body: unknown, url: string): ChatRequest {
  const [path = '', query] = url.split('?', 2)
  const [, name = '', method] = METHOD.exec(path) ?? []
  const model = decodeURIComponent(name)
  const stream = method === 'streamGenerateContent'
  if (stream && new URLSearchParams(query).get('alt') !== 'sse') {
    throw new Refusal(400, 'the simulator streams only with alt=sse')
  }
  if (!isRecord(body)) throw new Refusal(400, 'Invalid JSON payload received.')
  assertNamesKnown(body, BODY_FIELDS)
  const config = body.generationConfig ?? {}
  if (!isRecord(config)) throw new Refusal(400, 'Invalid value at generation_config')
  const tools = toolsIn(body.tools)
  assertModePossible(body.toolConfig, tools)
  const wantsThoughts = checkGeneration(config, model, tools.length > 0)
  return {
    model,
    stream,
    wantsUsage: true,
    tokensMax: tokensMaxOf(config.maxOutputTokens),
    messages: checkContents(body.contents, body.systemInstruction, model),
    tools,
    wantsThoughts,
  }
}

function tokensMaxOf(value: unknown): number | undefined {
  if (value == null) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw new Refusal(400, 'max_output_tokens must be positive.')
  }
  return value
}

function toolsIn(tools: unknown): Tool[] {
  if (tools == null) return []
  if (!Array.isArray(tools)) throw new Refusal(400, 'Invalid value at tools')
  return tools.flatMap((tool) => (isRecord(tool) ? [tool.functionDeclarations ?? []] : []).flat()).map(toolOf)
}

function toolOf(declaration: unknown): Tool {
  if (!isRecord(declaration) || typeof declaration.name !== 'string' || !/^[\w:.-]{1,64}$/.test(declaration.name)) {
    throw new Refusal(400, 'Invalid function name.')
  }
  return { name: declaration.name, parameters: declaration.parametersJsonSchema ?? declaration.parameters }
}

function assertModePossible(toolConfig: unknown, tools: readonly Tool[]): void {
  if (toolConfig == null) return
  const config = isRecord(toolConfig) ? toolConfig.functionCallingConfig : undefined
  if (!isRecord(config)) return
  if (tools.length === 0) throw new Refusal(400, 'Function calling config is set without function_declarations.')
  if (!MODES.has(config.mode ?? 'AUTO')) throw new Refusal(400, 'Invalid value at function_calling_config.mode')
  const allowed = Array.isArray(config.allowedFunctionNames) ? config.allowedFunctionNames : []
  if (allowed.some((name) => !tools.some((tool) => tool.name === name))) {
    throw new Refusal(400, 'allowed_function_names must be a subset of the function declarations.')
  }
}

const STATUSES = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [429, 'RESOURCE_EXHAUSTED'],
  [500, 'INTERNAL'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
])

function errorBody(code: number, message: string): unknown {
  const status = STATUSES.get(code) ?? (code < 500 ? 'INVALID_ARGUMENT' : 'UNKNOWN')
  return { error: { code, message, status, ...(message === KEY_INVALID && { details: KEY_INVALID_DETAILS }) } }
}

const KEY_INVALID_DETAILS = [
  {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
    metadata: { service: 'generativelanguage.googleapis.com' },
  },
]

function json(answer: Answer): unknown {
  const { reply, usage } = answer
  const thoughts = reply.thoughts.length > 0 ? [{ text: textOf(reply.thoughts), thought: true }] : []
  const parts = [...thoughts, ...(reply.tool ? callParts(answer) : [{ text: textOf(reply.pieces) }])]
  return {
    candidates: [
      { content: { parts, role: 'model' }, finishReason: answer.finish ?? FINISH_REASONS[reply.finish], index: 0 },
    ],
    ...(usage && { usageMetadata: usageBody(usage) }),
    modelVersion: answer.model,
    responseId: answer.id,
  }
}

function* events(answer: Answer): Generator<StreamEvent> {
  const { reply, usage } = answer
  let tokensSoFar = 0
  function event(kind: StreamEvent['kind'], parts: unknown[], tokens: number): StreamEvent {
    tokensSoFar += tokens
    const isLast = kind === 'done'
    const data = {
      candidates: [
        {
          content: { parts, role: 'model' },
          ...(isLast && { finishReason: answer.finish ?? FINISH_REASONS[reply.finish] }),
          index: 0,
        },
      ],
      // Each event counts the answer up to itself; only the last tells all of what was asked for.
      ...(usage && { usageMetadata: isLast ? usageBody(usage) : usageSoFar(usage, tokensSoFar) }),
      modelVersion: answer.model,
      responseId: answer.id,
    }
    return { kind, data: JSON.stringify(data), tokens }
  }

  for (const { text, tokens } of reply.thoughts)
    yield { ...event('content', [{ text, thought: true }], 0), thoughtTokens: tokens }
  if (reply.tool) {
    const parts = callParts(answer)
    if (parts.length > 0) yield event('content', parts, reply.tokens)
  } else {
    for (const { text, tokens } of reply.pieces) yield event('content', [{ text }], tokens)
  }
  yield event('done', [{ text: '' }], reply.tokens - tokensSoFar)
}

/** A call comes whole, or not at all if there was no room for all of it. */
function callParts({ id, reply }: Answer): unknown[] {
  if (!reply.tool || reply.finish === 'length') return []
  const args: unknown = JSON.parse(textOf(reply.pieces))
  const { name } = reply.tool
  return Array.from({ length: reply.calls }, (_, n) => ({
    functionCall: { id: `call_${id}${n === 0 ? '' : `_${n}`}`, name, args },
    ...(n === 0 && { thoughtSignature: signatureOf(id) }),
  }))
}

/** Thoughts are counted beside the candidates, and what was cached inside the prompt. A zero is left out. */
function usageBody(usage: ReportedUsage): Record<string, unknown> {
  const { prompt, completion, total, cached, reasoning } = usage
  const isHonest = typeof completion === 'number' && typeof reasoning === 'number'
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: isHonest && completion >= reasoning ? completion - reasoning : completion,
    totalTokenCount: total,
    ...(cached !== 0 && { cachedContentTokenCount: cached }),
    ...(reasoning !== 0 && { thoughtsTokenCount: reasoning }),
  }
}

function usageSoFar({ prompt, reasoning }: ReportedUsage, tokens: number): Record<string, unknown> {
  return {
    promptTokenCount: prompt,
    ...(tokens > 0 && { candidatesTokenCount: tokens }),
    ...(reasoning !== 0 && { thoughtsTokenCount: reasoning }),
  }
}
