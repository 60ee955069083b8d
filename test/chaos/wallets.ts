/** Projects with money, what was put into them, and a look at their wallets while everything else goes wrong. */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Store } from '../../src/store/database.ts'
import { creditWallet } from '../../src/store/billing/wallets.ts'
import { addProject, type TestProject } from '../support/world.ts'
import type { Case, Funding } from './oracle.ts'
import type { ChaosSystem } from './system.ts'

export const RICH_NANOS = 1_000_000_000_000n

/** A project with exactly this much. */
export async function fundedProject(system: ChaosSystem, nanos: bigint, funding: Funding[]): Promise<TestProject> {
  const project = await addProject(system.store, system.secrets, { credits: '0' })
  if (nanos > 0n) await fund(system.store, project.id, nanos, funding)
  return project
}

/** Tries until it is certain: a top-up whose answer was lost is sent again under the same reference. */
export async function fund(store: Store, projectId: string, nanos: bigint, funding: Funding[]): Promise<void> {
  const id = uuidv7()
  const credit = { id, projectId, amount: nanos, kind: 'topup' as const, reference: `chaos:${id}`, reason: null }
  await patiently(() => creditWallet(store.db, credit))
  funding.push({ projectId, nanos })
}

export async function limitConcurrency(store: Store, projectId: string, calls: number): Promise<void> {
  await store.db.updateTable('projects').set({ concurrent_calls: calls }).where('id', '=', projectId).execute()
}

/** Repeats what fails only because PostgreSQL is away. */
export async function patiently<T>(work: () => Promise<T>, withinMs = 60_000): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(100)
    }
  }
}

export interface Watch {
  readonly looks: number
  /** Each wallet that was ever seen below zero. */
  readonly below: readonly Case[]
  stop(): Promise<void>
}

/** Looks at all wallets again and again, also in the middle of outages. */
export function watchWallets(store: Store, everyMs: number): Watch {
  const below = new Map<string, Case>()
  let looks = 0
  let isOver = false
  const loop = (async () => {
    while (!isOver) {
      const { rows } = await sql<{ project_id: string; balance: bigint; held: bigint }>`
        select project_id, balance_nanos as balance, held_nanos as held from wallets
        where balance_nanos < 0 or held_nanos < 0 or balance_nanos < held_nanos`
        .execute(store.db)
        .then((result) => {
          looks += 1
          return result
        })
        .catch(() => ({ rows: [] }))
      for (const { project_id, balance, held } of rows)
        below.set(project_id, { what: `wallet ${project_id} had ${balance} nanos, ${held} of them held` })
      await sleep(everyMs)
    }
  })()
  return {
    get looks() {
      return looks
    },
    get below() {
      return [...below.values()]
    },
    async stop() {
      isOver = true
      await loop
    },
  }
}

/** Longer than a call takes whose hold was swept and whose caller is gone: nothing but its late charge tells of it. */
const QUIET_FOR_MS = 5_000

/** Waits until no hold is open and the books no longer change; returns how many holds are open when the time is over. */
export async function untilBooksAreQuiet(store: Store, withinMs: number): Promise<number> {
  const deadline = performance.now() + withinMs
  let entries = -1
  let quietSinceMs = performance.now()
  for (;;) {
    const books = await patiently(() => lookAtBooks(store))
    if (books.open > 0 || books.entries !== entries) quietSinceMs = performance.now()
    entries = books.entries
    if (performance.now() - quietSinceMs > QUIET_FOR_MS || performance.now() > deadline) return books.open
    await sleep(200)
  }
}

async function lookAtBooks(store: Store): Promise<{ open: number; entries: number }> {
  const { rows } = await sql<{ open: number; entries: number }>`
    select (select count(*)::int from holds) as open,
      (select count(*)::int from charges) + (select count(*)::int from transfers) as entries`.execute(store.db)
  return rows[0] ?? { open: 0, entries: 0 }
}
