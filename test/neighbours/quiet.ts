/** The quiet tenant: asks at a steady rate, whether or not it has been answered, and notes how long each answer took. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCaller, type Received, type Sent } from './exchange.ts'
import { GUIDE_MODEL, MODEL, type Tenant } from './tenants.ts'
import { figuresOf, NO_RECOMMENDATION, type Figures } from './verdict.ts'

/** The activity of the quiet tenant, by which every attack is measured. */
export type Habit = 'calls' | 'console' | 'recommendations'

export interface QuietTenant {
  /** Until the processes that answer have compiled what they run. */
  warmUp(): Promise<void>
  measure(seconds: number): Promise<Figures>
  close(): void
}

/** Few of the console's: each costs it several milliseconds, and the quiet tenant must not be the one who fills it. */
const PER_SECOND: Record<Habit, number> = { calls: 40, console: 25, recommendations: 25 }
const ADDRESS = '127.0.0.1'
const WARM_UP_MS = 3_000
const WARM_UP_LANES = 4

export function createQuietTenant(habit: Habit, tenant: Tenant, urls: { gateway: string; console: string }) {
  const caller = createCaller(ADDRESS)
  const ask = habits(tenant, urls)[habit]
  let asked = 0

  async function once(): Promise<{ ms: number; complaint: string | undefined }> {
    const { url, complain, ...sent } = ask((asked += 1))
    const startedMs = performance.now()
    const received = await caller.send(url, sent)
    return { ms: performance.now() - startedMs, complaint: complain(received) }
  }

  return {
    async warmUp(): Promise<void> {
      const untilMs = performance.now() + WARM_UP_MS
      const lane = async () => {
        while (performance.now() < untilMs) await once()
      }
      await Promise.all(Array.from({ length: WARM_UP_LANES }, lane))
    },
    async measure(seconds: number): Promise<Figures> {
      const startedMs = performance.now()
      const all: ReturnType<typeof once>[] = []
      for (let n = 0; n < seconds * PER_SECOND[habit]; n++) {
        const dueMs = startedMs + (n * 1_000) / PER_SECOND[habit]
        if (performance.now() < dueMs) await sleep(dueMs - performance.now())
        all.push(once())
      }
      return figuresOf(await Promise.all(all))
    },
    close: () => caller.close(),
  } satisfies QuietTenant
}

interface Question extends Sent {
  url: string
  /** Returns the problem with the answer, if there is one. */
  complain(received: Received): string | undefined
}

function habits({ project, cookie }: Tenant, urls: { gateway: string; console: string }) {
  const completions = `${urls.gateway}/v1/chat/completions`
  return {
    calls(n) {
      const stream = n % 2 === 0
      const messages = [{ role: 'user', content: 'Hello [[sim tokens=8 ttft=10]]' }]
      const body = JSON.stringify({ model: MODEL, stream, messages })
      return {
        url: completions,
        headers: project.headers,
        body,
        complain: (received) => brokenAnswer(received, stream),
      }
    },
    console: () => ({ url: `${urls.console}/api/me`, headers: { cookie }, complain: refusal }),
    recommendations() {
      const messages = [{ role: 'user', content: 'Which noise-cancelling headphones are good for long flights?' }]
      const headers = { ...project.headers, 'x-conversation-id': crypto.randomUUID() }
      const complain = (received: Received) =>
        refusal(received) ?? (received.text.includes('**Ad**') ? undefined : NO_RECOMMENDATION)
      return { url: completions, headers, body: JSON.stringify({ model: GUIDE_MODEL, messages }), complain }
    },
  } satisfies Record<Habit, (n: number) => Question>
}

function refusal({ status, text }: Received): string | undefined {
  if (status === 200) return undefined
  const code = /"code":"(\w+)"/.exec(text)?.[1]
  return code === undefined ? String(status) : `${status} ${code}`
}

function brokenAnswer(received: Received, stream: boolean): string | undefined {
  return refusal(received) ?? (received.text.includes(stream ? 'data: [DONE]' : '"usage"') ? undefined : 'no end')
}
