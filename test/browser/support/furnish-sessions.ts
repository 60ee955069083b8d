import { sql } from 'kysely'
import type { Db } from '../../../src/store/database.ts'
import { addBrowserSession } from '../../support/browser-sessions.ts'

/** Pages of a site about cooking that call by themselves: one just begun, one nearly used up, one of a narrow kind. */
export async function furnishSessions(db: Db, projectId: string): Promise<void> {
  const pairs = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', projectId)
    .where('active', '=', true)
    .where('replaced_by', 'is', null)
    .where('purpose', '=', 'calls')
    .orderBy('created_at')
    .execute()
  const users = await db.selectFrom('end_users').select('id').where('project_id', '=', projectId).execute()
  const { name: domain } = await db
    .selectFrom('domains')
    .select('name')
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  const add = async (
    n: number,
    change: Parameters<typeof addBrowserSession>[2],
    used: [calls: number, spent: bigint],
  ) => {
    const keyPairId = pairs[n % pairs.length]?.id ?? ''
    const id = await addBrowserSession(db, { projectId, keyPairId }, { endUserId: users[n]?.id, ...change })
    await db.updateTable('browser_sessions').set({ calls_made: used[0] }).where('id', '=', id).execute()
    await sql`update limit_counts set total_nanos = ${used[1]}, held_nanos = ${n === 1 ? 4_200_000n : 0n}
      where subject = ${id}`.execute(db)
  }
  await add(0, { secretLast4: 'k3Zq', seconds: 3_600 }, [4, 31_000_000n])
  await add(1, { secretLast4: 'Tt8d', calls: 20, money: 250_000_000n, seconds: 240 }, [19, 231_700_000n])
  const narrow = {
    models: ['demo-small', 'demo-large', 'demo-vision'],
    origins: [`https://app.${domain}`],
    maxTokens: 800,
  }
  await add(2, { secretLast4: 'a0Pm', ...narrow, money: 2_000_000_000n, calls: 200 }, [57, 610_000_000n])
  await add(3, { secretLast4: '9xLs', endUserId: undefined }, [0, 0n])
  await add(4, { secretLast4: 'Qr5v', money: 50_000_000n }, [11, 50_000_000n])
}
