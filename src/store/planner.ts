import { sql } from 'kysely'
import type { Db } from './database.ts'

/**
 * Pages are read through the index that begins with the project. Left alone, the planner prefers the one by time for a
 * project with many calls; should that project have gone quiet, it would read everybody else's calls of the day. With
 * pages that cost nothing, only the number of rows decides.
 */
export async function goByIndexes(tx: Db): Promise<void> {
  await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true), set_config('seq_page_cost', '0', true),
    set_config('random_page_cost', '0', true), set_config('max_parallel_workers_per_gather', '0', true)`.execute(tx)
}

/** Sums over a hundred thousand rows: with the usual memory they would be sorted on disk, by processes that take long to start. */
export async function addUpInMemory(tx: Db): Promise<void> {
  await sql`select set_config('work_mem', '32MB', true), set_config('jit', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true)`.execute(tx)
}
