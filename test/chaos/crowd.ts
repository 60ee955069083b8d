/**
 * Thousands of callers who all ask at the same moment, in a process of their own: one process may not open as many
 * sockets as all of them need. Each asks until it is answered or refused; a broken connection is neither.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../support/random.ts'
import { ask } from './caller.ts'
import type { Plan } from './kinds.ts'
import type { Reaper } from './reaper.ts'

export interface Orders {
  seed: number
  /** The keys of each wallet's project. */
  wallets: Record<string, string>[]
  callsPerWallet: number
  body: Plan['body']
}

export interface Tally {
  /** By wallet. */
  answered: number[]
  refused: number
  /** Neither, although it was tried again and again. */
  unanswered: number
  tries: number
  /** Statuses that neither money, nor a killed gateway, nor a machine that cannot keep up explains. */
  unexpected: Record<string, number>
}

export interface Crowd {
  /** Where gateways listen now. */
  meet(ports: readonly number[]): void
  tally: Promise<Tally>
}

type Message = { ports: readonly number[] } | { orders: Orders }

const TRIES_MAX = 200
const ANSWER_WITHIN_MS = 60_000
const RETRY_WITHIN_MS = 1_000
/** Thousands at once on a few cores: bodies and providers' answers may come too slowly for the time that they have. */
const OVERLOADED = new Set([408, 502, 503])

export function gatherCrowd(orders: Orders, reaper: Reaper): Crowd {
  const child = fork(import.meta.filename, { stdio: 'inherit' })
  if (child.pid !== undefined) reaper.watch(child.pid)
  child.send({ orders } satisfies Message)
  return {
    meet: (ports) => void child.send({ ports } satisfies Message),
    tally: once(child, 'message').then(([tally]) => tally as Tally),
  }
}

async function askUntilAnswered(
  orders: Orders,
  wallet: number,
  portsOf: () => readonly number[],
  random: Random,
  tally: Tally,
): Promise<void> {
  for (let tried = 0; tried < TRIES_MAX; tried++) {
    tally.tries += 1
    while (portsOf().length === 0) await sleep(random.int(RETRY_WITHIN_MS))
    const headers = orders.wallets[wallet] ?? {}
    const answer = await ask({ port: random.pick(portsOf()), headers, body: orders.body, withinMs: ANSWER_WITHIN_MS })
    if (answer.end === 'complete') {
      tally.answered[wallet] = (tally.answered[wallet] ?? 0) + 1
      return
    }
    if (answer.status === 403) {
      tally.refused += 1
      return
    }
    const isExplained = answer.end !== 'refused' || OVERLOADED.has(answer.status ?? 0)
    if (!isExplained) tally.unexpected[String(answer.status)] = (tally.unexpected[String(answer.status)] ?? 0) + 1
    await sleep(random.int(RETRY_WITHIN_MS))
  }
  tally.unanswered += 1
}

async function obey(): Promise<void> {
  let ports: readonly number[] = []
  const orders = await new Promise<Orders>((resolve) => {
    process.on('message', (message: Message) => {
      if ('ports' in message) ports = message.ports
      else resolve(message.orders)
    })
  })
  const random = createRandom(orders.seed)
  const tally: Tally = { answered: [], refused: 0, unanswered: 0, tries: 0, unexpected: {} }
  const calls = orders.wallets.flatMap((_, wallet) =>
    Array.from({ length: orders.callsPerWallet }, () => askUntilAnswered(orders, wallet, () => ports, random, tally)),
  )
  await Promise.all(calls)
  process.send?.(tally, () => process.exit(0))
}

if (import.meta.main) await obey()
