import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestProject } from '../support/world.ts'
import type { Behaviour, Moment, Trial } from './trial.ts'
import type { ExactWorld } from './world.ts'

/** The outcome for one caller. Failures are not thrown: whatever happens to the caller, its charge is judged. */
export interface Seen {
  status: number | undefined
  /** Chunks of the answer that arrived. */
  chunks: number
}

const GIVES_UP_AFTER_MS = 60_000
/** The time that the provider may take to start work on a request that it has. */
const AT_WORK_MS = 60
/** The time that a busy gateway may take to read what the provider has just written. */
const ON_ITS_WAY_MS = 500

export async function perform(world: ExactWorld, project: TestProject, trial: Trial): Promise<Seen> {
  const { caller } = trial
  if (caller.does !== 'retry') return ask(world, project, trial, caller)
  const key = { 'idempotency-key': trial.id }
  void ask(world, project, trial, { does: 'hang up', when: 'asked' }, key)
  let seen: Seen = { status: undefined, chunks: 0 }
  for (let time = 1; time < caller.times || seen.status === 409; time++) {
    await sleep(30)
    seen = await ask(world, project, trial, { does: 'read' }, key)
  }
  return seen
}

function ask(
  world: ExactWorld,
  project: TestProject,
  trial: Trial,
  behaviour: Exclude<Behaviour, { does: 'retry' }>,
  headers: Record<string, string> = {},
): Promise<Seen> {
  const seen: Seen = { status: undefined, chunks: 0 }
  const body = Buffer.from(JSON.stringify(trial.asResponse ?? trial.body))
  return new Promise((resolve) => {
    const path = 'input' in trial.body ? 'embeddings' : trial.asResponse ? 'responses' : 'chat/completions'
    const call = httpRequest(`${world.url}/v1/${path}`, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        'x-conversation-id': trial.id,
        ...project.headers,
        ...headers,
      },
    })
    const timer = setTimeout(() => call.destroy(), GIVES_UP_AFTER_MS)
    call.on('error', () => {})
    call.on('close', () => {
      clearTimeout(timer)
      resolve(seen)
    })
    call.on('response', (response) => {
      seen.status = response.statusCode
      read(call, response, behaviour, seen)
    })
    if (behaviour.does === 'hang up' && behaviour.when === 'half sent') {
      call.write(body.subarray(0, body.length / 2), () => call.destroy())
    } else {
      call.end(body)
      if (behaviour.does === 'hang up') void leaveWhen(world, trial.id, behaviour.when, call)
    }
  })
}

/** Moments that only the provider knows of. */
async function leaveWhen(world: ExactWorld, mark: string, when: Moment, call: ClientRequest): Promise<void> {
  const isReached = () => {
    const [asked] = world.callsOf(mark)
    if (when === 'asked') return asked !== undefined
    return typeof when === 'object' && 'generated' in when && (asked?.generatedTokens ?? 0) >= when.generated
  }
  if (when !== 'asked' && !(typeof when === 'object' && 'generated' in when)) return
  while (!call.destroyed && !isReached()) await sleep(2)
  await sleep(when === 'asked' ? AT_WORK_MS : ON_ITS_WAY_MS)
  call.destroy()
}

function read(call: ClientRequest, response: IncomingMessage, behaviour: Behaviour, seen: Seen): void {
  let text = ''
  let bytes = 0
  let stalls = 0
  response.on('error', () => {})
  response.on('data', (piece: Buffer) => {
    bytes += piece.length
    text = `${text}${piece.toString('latin1')}`
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    seen.chunks += events.filter(isChunk).length
    if (behaviour.does === 'hang up' && isTimeToLeave(behaviour.when, seen, events)) call.destroy()
    if (behaviour.does === 'stall' && stalls < behaviour.times && bytes >= (stalls + 1) * behaviour.afterBytes) {
      stalls++
      wait(response, behaviour.forMs)
      if (behaviour.isLast && stalls === behaviour.times) setTimeout(() => call.destroy(), behaviour.forMs)
    }
  })
}

function isChunk(event: string): boolean {
  return (
    /"delta":\{"(?:content":"[^"]|reasoning_content|tool_calls)/.test(event) ||
    /^event: response\.(?:output_text|reasoning_summary_text|function_call_arguments)\.delta/.test(event)
  )
}

/** A response tells of its end when it has been charged for; that the model has ended, the end of its parts tells. */
function isFinish(event: string): boolean {
  return (
    event.includes('"finish_reason":"') ||
    /^event: response\.(?:content_part|function_call_arguments)\.done/.test(event)
  )
}

function isTimeToLeave(when: Moment, { chunks }: Seen, events: readonly string[]): boolean {
  if (when === 'finish') return events.some(isFinish)
  return typeof when === 'object' && 'chunks' in when && chunks >= when.chunks
}

function wait(response: IncomingMessage, ms: number): void {
  if (ms < 1) return
  response.pause()
  setTimeout(() => response.resume(), ms)
}
