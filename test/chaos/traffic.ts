/** Callers of several projects, each asking one thing after another, and the record of everything they received. */
import { setTimeout as sleep } from 'node:timers/promises'
import { tokensIn } from '../../simulator/reply.ts'
import { createRandom, type Random } from '../support/random.ts'
import type { TestProject } from '../support/world.ts'
import { ask, type Answer } from './caller.ts'
import { pickKeyedPlan, pickPlan, type Plan } from './kinds.ts'
import type { GatewayProcess } from './system.ts'

/** One request that was sent, and what became of it as far as its caller can know. */
export interface Attempt extends Omit<Answer, 'text'> {
  kind: string
  projectId: string
  gateway: string
  conversationId: string | undefined
  key: string | undefined
  promptTokens: number
  outputTokensMax: number
  startedAt: string
  durationMs: number
  /** How many tokens of the answer arrived. */
  tokens: number
  /** Kept only where two answers must be the same. */
  text: string | undefined
}

/** Sends calls and keeps the record. */
export interface Sender {
  readonly attempts: readonly Attempt[]
  readonly running: number
  readonly answered: number
  send(plan: Plan, project: TestProject, gateway: GatewayProcess, names?: CallNames): Promise<Attempt>
}

export interface CallNames {
  /** Unique to the call, so that a charge can be traced to its caller also when no byte came back. */
  conversationId?: string
  /** An Idempotency-Key. */
  key?: string
}

export function createSender(withinMs: number): Sender {
  const attempts: Attempt[] = []
  let running = 0
  let answered = 0
  return {
    attempts,
    get running() {
      return running
    },
    get answered() {
      return answered
    },
    async send(plan, project, gateway, { conversationId: wanted, key } = {}) {
      // Embeddings belong to none.
      const conversationId = 'input' in plan.body ? undefined : wanted
      const startedAt = new Date().toISOString()
      const startedMs = performance.now()
      running += 1
      const { text, ...answer } = await ask({
        port: gateway.front.port,
        headers: {
          ...project.headers,
          ...(conversationId === undefined ? {} : { 'x-conversation-id': conversationId }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        body: plan.body,
        isResponse: plan.isResponse,
        hangUp: plan.hangUp,
        withinMs,
      })
      running -= 1
      if (answer.end === 'complete') answered += 1
      const attempt = {
        ...answer,
        kind: plan.kind,
        projectId: project.id,
        gateway: gateway.service.name,
        conversationId,
        key,
        promptTokens: plan.promptTokens,
        outputTokensMax: plan.outputTokensMax,
        startedAt,
        durationMs: Math.round(performance.now() - startedMs),
        tokens: tokensIn(text),
        text: key === undefined ? undefined : text,
      }
      attempts.push(attempt)
      return attempt
    },
  }
}

export interface TrafficOptions {
  seed: number
  gateways: readonly GatewayProcess[]
  projects: readonly TestProject[]
  callers: number
  /** This project's callers send an Idempotency-Key and ask again until they have an answer. */
  keyedProject: TestProject
  keyedCallers: number
}

export interface Traffic extends Omit<Sender, 'send'> {
  /** Nothing new is asked; resolves when every running call has ended. */
  stop(): Promise<void>
}

const ANSWER_WITHIN_MS = 30_000
const REST_MS = 80
/** A gateway that is down refuses in a millisecond; without a rest its callers would do nothing else. */
const REST_AFTER_FAILURE_MS = 800
const RETRIES_MAX = 100

export function startTraffic(options: TrafficOptions): Traffic {
  const { seed, gateways, projects } = options
  const sender = createSender(ANSWER_WITHIN_MS)
  let isOver = false

  async function rest(random: Random, { end }: Attempt): Promise<void> {
    await sleep(random.int(end === 'silent' || end === 'refused' ? REST_AFTER_FAILURE_MS : REST_MS))
  }

  async function call(random: Random, caller: number): Promise<void> {
    for (let turn = 0; !isOver; turn++) {
      const names = random.int(2) === 0 ? { conversationId: `chaos-${caller}-${turn}` } : {}
      const gateway = choose(gateways, random)
      await rest(random, await sender.send(pickPlan(random), random.pick(projects), gateway, names))
    }
  }

  /** Asks again with the same key whenever the answer did not arrive whole; some give up, and never learn what came of it. */
  async function callWithKey(random: Random, caller: number): Promise<void> {
    for (let turn = 0; !isOver; turn++) {
      const plan = pickKeyedPlan(random)
      const key = `chaos-key-${caller}-${turn}`
      const names = { key, conversationId: key }
      for (let retry = 0; retry < RETRIES_MAX; retry++) {
        const attempt = await sender.send(plan, options.keyedProject, choose(gateways, random), names)
        await rest(random, attempt)
        // A caller with an answer sometimes asks once more, and must get the very same answer for free.
        if (random.int(attempt.end === 'complete' ? 2 : 50) === 0) break
      }
    }
  }

  const randomOf = (caller: number) => createRandom(seed * 1_000 + caller)
  const callers = [
    ...Array.from({ length: options.callers }, (_, n) => call(randomOf(n), n)),
    ...Array.from({ length: options.keyedCallers }, (_, n) => callWithKey(randomOf(500 + n), n)),
  ]

  return {
    attempts: sender.attempts,
    get running() {
      return sender.running
    },
    get answered() {
      return sender.answered
    },
    async stop() {
      isOver = true
      await Promise.all(callers)
    },
  }
}

/** A balancer sends most calls where somebody answers, and notices a little late that nobody does. */
function choose(gateways: readonly GatewayProcess[], random: Random): GatewayProcess {
  const answering = gateways.filter(({ service }) => service.state === 'up')
  return random.pick(answering.length === 0 || random.int(10) === 0 ? gateways : answering)
}
