/** Answers one chat request, or one for embeddings: from its body to the last byte, and into the log. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { CACHED_TOKENS_MIN, NOT_CACHED } from './caches.ts'
import type { Caches, CacheUse } from './caches.ts'
import { shownHeaders } from './calls.ts'
import type { CallLog, SimulatedCall } from './calls.ts'
import { A_THOUGHT } from './claude.ts'
import type { ChatRequest, Dialect, ReportedUsage, Usage } from './dialect.ts'
import { faultOf } from './faults.ts'
import type { Fault } from './faults.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { composeReply, promptTokensOf, tokensIn } from './reply.ts'
import type { Reply } from './reply.ts'
import { parseScript } from './script.ts'
import type { Script } from './script.ts'
import { send } from './send.ts'
import { talkAbout } from './talk.ts'
import { DIMENSIONS, vectorFor } from './vectors.ts'
import { PeerGone, createWire } from './wire.ts'

const BODY_BYTES_MAX = 16 * 1024 * 1024
const STRUCK_SCRIPTS_MAX = 10_000

/** A tool whose result contains this is called again. */
const AGAIN = '[[sim again]]'

/** The clock of a simulator that answers the same every time starts here. */
const EPOCH_S = 1_750_000_000

export interface Chat {
  /** Throws a Refusal, or PeerGone. */
  answer(request: IncomingMessage, response: ServerResponse, dialect: Dialect): Promise<void>
  /** Forgets what is cached, and how often faults with `times` have struck. */
  reset(): void
}

export interface ChatOptions {
  readonly onCall?: ((call: SimulatedCall) => void) | undefined
  readonly caches?: Caches | undefined
}

export function createChat(log: CallLog, seed: number, { onCall, caches }: ChatOptions = {}): Chat {
  const strikes = createStrikes()

  async function answer(request: IncomingMessage, response: ServerResponse, dialect: Dialect): Promise<void> {
    const text = await readBody(request)
    const body = parseJson(text)
    dialect.checkHeaders?.(request.headers)
    const url = request.url ?? ''
    const chatRequest = dialect.read(body, url)
    const id = `${dialect.idPrefix}${seed}-${log.total() + 1}`
    const call = newCall(id, request, dialect.credentialIn(request.headers, url), { body, chatRequest })
    log.add(call, text.length)
    let ended: SimulatedCall['ended'] = 'fault'
    try {
      assertAllowed(call.authorization, dialect)
      ended = await reply(request, response, dialect, chatRequest, call)
    } catch (error) {
      if (error instanceof PeerGone) ended = 'cancelled'
      throw error
    } finally {
      log.end(call, ended)
    }
  }

  function reply(
    request: IncomingMessage,
    response: ServerResponse,
    dialect: Dialect,
    chatRequest: ChatRequest,
    call: SimulatedCall,
  ): Promise<'completed' | 'fault'> {
    const script = scriptOf(request, chatRequest, dialect)
    const asked = faultOf(script, chatRequest.stream, dialect)
    const composed = replyTo(chatRequest, script, seed)
    const fault = asked && strikes.strikes(`${call.model} ${script.key}`, script.times) ? asked : undefined
    const isRefused = fault?.instead !== undefined && fault.isAtWork !== true
    const found = isRefused ? NOT_CACHED : lookUp(caches, dialect, chatRequest, call)
    const cache = cacheUseOf(script, found)
    const billing = startBilling(call, chatRequest, script, composed, { fault, cache })
    onCall?.(call)
    const sending = send({
      wire: createWire(response, request.socket, script.impatientMs),
      dialect,
      answer: {
        id: call.id,
        createdS: EPOCH_S + log.total(),
        topLogprobs: chatRequest.topLogprobs,
        model: call.model,
        reply: composed,
        finish: script.finish,
        ...vectorsOf(chatRequest, script, seed),
        usage: usageOf(call, chatRequest, script, composed, { fault, cache }),
      },
      stream: chatRequest.stream,
      script,
      fault,
      ...billing,
    })
    return sending.finally(billing.onEnd)
  }

  return {
    answer,
    reset() {
      strikes.clear()
      caches?.clear()
    },
  }
}

function newCall(
  id: string,
  { headers }: IncomingMessage,
  authorization: string | undefined,
  { body, chatRequest }: { body: unknown; chatRequest: ChatRequest },
): SimulatedCall {
  return {
    id,
    model: chatRequest.model,
    authorization,
    headers: shownHeaders(headers),
    body,
    promptTokens: promptTokensIn(chatRequest),
    generatedTokens: 0,
    mark: undefined,
    bill: undefined,
    ended: 'running',
  }
}

function lookUp(caches: Caches | undefined, dialect: Dialect, request: ChatRequest, call: SimulatedCall): CacheUse {
  if (!caches || call.promptTokens < CACHED_TOKENS_MIN || !isRecord(call.body)) return NOT_CACHED
  return caches.use(dialect.caching(call.body, request), accountOf(call))
}

/** Caches belong to an account and a model. A signature is another one each time, and names the account. */
function accountOf({ authorization = '', model }: SimulatedCall): string {
  const [, signer = authorization] = /^AWS4\S* Credential=([^/]+)/.exec(authorization) ?? []
  return `${signer} ${model.split('?')[0]}`
}

/** The script's figures take precedence over what was found in the cache. */
function cacheUseOf(script: Script, found: CacheUse): CacheUse {
  const { cachedTokens, cacheWriteTokens, factor } = script
  if (cachedTokens + cacheWriteTokens > 0) return { cached: cachedTokens, written: cacheWriteTokens }
  return { cached: found.cached * factor, written: found.written * factor }
}

interface Circumstances {
  readonly fault: Fault | undefined
  readonly cache: CacheUse
}

/**
 * Bills a call as a provider does: the prompt once it has been read, and the part of the answer that was made when the call
 * ended, however it ended. A refusal costs nothing.
 */
function startBilling(
  call: SimulatedCall,
  { tokensMax }: ChatRequest,
  script: Script,
  reply: Reply,
  { fault, cache }: Circumstances,
) {
  const startedMs = performance.now()
  const shown = reply.thoughts.reduce((sum, { tokens }) => sum + tokens, 0)
  const hidden = Math.max(0, Math.min(script.reasoningTokens, tokensMax ?? Infinity) - shown)
  const prompt = call.promptTokens * script.factor
  const cached = Math.min(cache.cached, prompt)
  const cacheWrite = Math.min(cache.written, prompt - cached)
  const bill = { fresh: prompt - cached - cacheWrite, cached, cacheWrite, completion: 0, reasoning: 0 }
  const thoughts = script.untold ? 'completion' : 'reasoning'
  let isThought = false
  call.mark = script.mark
  if (!fault?.instead || fault.isAtWork) call.bill = bill
  return {
    onThought: () => {
      isThought = true
      bill[thoughts] += hidden
    },
    onTokens: (tokens: number, thoughtTokens = 0) => {
      call.generatedTokens += tokens
      bill.completion += tokens * script.factor
      bill.reasoning += thoughtTokens
    },
    onEnd: () => {
      // Hung up on while it thought: as much of it as the time allowed.
      if (!isThought) bill[thoughts] += Math.floor((hidden * (performance.now() - startedMs)) / (script.ttftMs || 1))
    },
  }
}

/** How often each script has misbehaved. */
function createStrikes(): { strikes(key: string, times: number): boolean; clear(): void } {
  const struck = new Map<string, number>()
  return {
    strikes(key, times) {
      if (times === Infinity) return true
      const before = struck.get(key) ?? 0
      if (before >= times) return false
      struck.set(key, before + 1)
      const oldest = struck.keys().next().value
      if (struck.size > STRUCK_SCRIPTS_MAX && oldest !== undefined) struck.delete(oldest)
      return true
    },
    clear: () => struck.clear(),
  }
}

export function assertAllowed(credential: string | undefined, dialect: Dialect): void {
  const refusal = dialect.refusalOfKey?.(credential)
  if (refusal) throw refusal
  if (credential === undefined) throw new Refusal(401, "you didn't provide an API key")
  if (credential.includes('bad-key')) throw new Refusal(401, 'incorrect API key provided')
}

function lastUserTextOf({ messages }: ChatRequest): string {
  return messages.findLast((message) => message.role === 'user')?.text ?? ''
}

function scriptOf(request: IncomingMessage, chatRequest: ChatRequest, { format }: Dialect): Script {
  const header = request.headers['x-simulate']
  const script = parseScript({
    header: header === undefined ? undefined : String(header),
    model: chatRequest.model,
    lastUserText: lastUserTextOf(chatRequest),
    // OpenAI's own models do not show what they think.
    thoughts: chatRequest.wantsThoughts && format !== 'openai' ? A_THOUGHT : undefined,
  })
  if (chatRequest.vectors) return { ...script, ...WORDLESS }
  const isThoughtless = script.asked && chatRequest.wantsThoughts !== true
  return isThoughtless ? { ...script, thoughts: undefined, reasoningTokens: 0 } : script
}

/** A model that makes vectors writes nothing, thinks nothing and caches no prompts. */
const WORDLESS = { tokens: 0, reasoningTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 }

function vectorsOf({ vectors }: ChatRequest, script: Script, seed: number) {
  if (!vectors) return {}
  const { inputs, isBase64, dimensions = DIMENSIONS } = vectors
  return { isBase64, vectors: inputs.map((input) => vectorFor(input, script.dimensions ?? dimensions, seed)) }
}

function replyTo(chatRequest: ChatRequest, script: Script, seed: number): Reply {
  // A caller that just gave a tool's result wants an answer: calling the tool again would loop for ever.
  const last = chatRequest.messages.at(-1)
  const toolName = last?.role === 'tool' && !last.text.includes(AGAIN) ? undefined : script.tool
  const tool = chatRequest.tools.find((candidate) => candidate.name === toolName)
  if (toolName !== undefined && !tool) throw new Refusal(400, `the request has no tool "${toolName}"`)
  const { tokensMax } = chatRequest
  return composeReply({
    seed,
    prompt: chatRequest.messages.map((message) => message.text).join('\n'),
    tokens: script.tokens,
    text: textFor(chatRequest, script),
    thoughts: script.thoughts,
    utf8: script.utf8,
    tool,
    calls: script.calls,
    chunkTokens: script.chunkTokens,
    // A model that thinks spends its allowance before it says a word.
    tokensMax: tokensMax === undefined ? undefined : Math.max(0, tokensMax - script.reasoningTokens),
  })
}

/** The literal text of the reply, if the script has one. */
function textFor(chatRequest: ChatRequest, { text, echo, talk, tokens, utf8 }: Script): string | undefined {
  if (echo) return lastUserTextOf(chatRequest)
  if (text !== undefined || !talk || tokens !== undefined || utf8 || chatRequest.vectors) return text
  return talkAbout(lastUserTextOf(chatRequest))
}

function usageOf(
  call: SimulatedCall,
  chatRequest: ChatRequest,
  script: Script,
  reply: Reply,
  { fault, cache }: Circumstances,
): ReportedUsage | undefined {
  if (chatRequest.stream && !chatRequest.wantsUsage) return undefined
  const reasoning = Math.min(script.reasoningTokens, chatRequest.tokensMax ?? Infinity)
  const completion = reply.tokens * script.factor + reasoning
  const prompt = call.promptTokens * script.factor
  const honest: Usage = {
    prompt,
    completion,
    total: prompt + completion,
    cached: cache.cached,
    cacheWrite: cache.written,
    fresh: Math.max(0, prompt - cache.cached - cache.written),
    reasoning: script.untold ? 0 : reasoning,
  }
  return fault?.usage ? fault.usage(honest) : honest
}

function promptTokensIn({ messages, alsoRead = [], mediaTokens = 0, vectors }: ChatRequest): number {
  if (vectors)
    return vectors.inputs.reduce((sum, input) => sum + (typeof input === 'string' ? tokensIn(input) : input.length), 0)
  const texts = promptTokensOf(messages.map((message) => message.text))
  return alsoRead.reduce((tokens, text) => tokens + tokensIn(text), texts + mediaTokens)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes > BODY_BYTES_MAX) throw new Refusal(413, `the body has more than ${BODY_BYTES_MAX} bytes`)
      parts.push(part)
    }
  } catch (error) {
    throw error instanceof Refusal ? error : new PeerGone()
  }
  return Buffer.concat(parts).toString()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'the body is not JSON')
  }
}
