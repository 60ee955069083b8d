import type { FastifyInstance } from 'fastify'
import { setLimits } from '../../actions/billing/limits.ts'
import { notThere } from '../../actions/refusals.ts'
import { includesRole } from '../../rules/accounts/roles.ts'
import { keyStatusOf } from '../../rules/projects/key-status.ts'
import { findCountedLimits, findCredits, NO_LIMITS } from '../../store/billing/limits.ts'
import type { Db } from '../../store/database.ts'
import { listManagedKeyPairs } from '../../store/projects/key-pairs.ts'
import { valuesOf, viewOfLimited, viewOfRates, viewOfValues } from '../limit-views.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

export function limitRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/limits', async ({ db, project, publisher }) => {
    const now = new Date()
    const credits = await findCredits(db, project.id)
    if (!credits) throw notThere('project')
    const families = await keyFamilies(db, project.id, now)
    const [account, own, everyone, ...ofKeys] = await findCountedLimits(db, project.id, [
      { scope: 'publisher', subject: publisher.id },
      { scope: 'project', subject: project.id },
      { scope: 'end_users', subject: project.id },
      ...families.map(({ countedAs }) => ({ scope: 'key_pair' as const, subject: countedAs })),
    ])
    if (!account || !own) throw notThere('project')
    return {
      operator: { rates: viewOfRates(credits.rates, now) },
      account: includesRole(publisher.role, 'admin') ? viewOfLimited(account, now) : null,
      project: viewOfLimited(own, now),
      endUsers: { values: viewOfValues(everyone?.own ?? NO_LIMITS) },
      keys: families.flatMap(({ newest, pairs, isOver }, n) => {
        const limited = ofKeys[n]
        if (!limited || (isOver && limited.own === NO_LIMITS)) return []
        const { id, name, publishable_key: publishableKey } = newest
        return [{ id, name, publishableKey, pairs, ...viewOfLimited(limited, now) }]
      }),
    }
  })

  route(app, world, 'PUT /api/publishers/:publisher/limits', async ({ db, actor, publisher, body }) => {
    await setLimits(db, actor, { of: { scope: 'publisher', publisherId: publisher.id }, limits: valuesOf(body) })
    return { done: true }
  })

  route(app, world, 'PUT /api/projects/:project/limits', async ({ db, actor, project, body }) => {
    await setLimits(db, actor, { of: { scope: 'project', project }, limits: valuesOf(body) })
    return { done: true }
  })

  route(app, world, 'PUT /api/projects/:project/end-user-limits', async ({ db, actor, project, body }) => {
    await setLimits(db, actor, { of: { scope: 'end_users', project }, limits: valuesOf(body) })
    return { done: true }
  })

  route(app, world, 'PUT /api/projects/:project/keys/:key/limits', async ({ db, actor, project, params, body }) => {
    await setLimits(db, actor, { of: { scope: 'key_pair', project, keyId: params.key }, limits: valuesOf(body) })
    return { done: true }
  })
}

/** Pairs that took each other's place are counted as one, and the newest of them stands for all. */
async function keyFamilies(db: Db, projectId: string, now: Date) {
  const pairs = await listManagedKeyPairs(db, projectId, now)
  return [...Map.groupBy(pairs, (pair) => pair.counted_as ?? pair.id)].flatMap(([countedAs, [newest, ...older]]) => {
    if (!newest) return []
    const isOver = keyStatusOf(newest, now.getTime()) === 'expired'
    return [{ countedAs, newest, pairs: older.length + 1, isOver }]
  })
}
