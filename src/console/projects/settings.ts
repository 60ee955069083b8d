import type { FastifyInstance } from 'fastify'
import { ParleyError } from '../../rules/errors.ts'
import { formatCredits } from '../../rules/money.ts'
import type { Db } from '../../store/database.ts'
import { countKeyPairs } from '../../store/projects/key-pairs.ts'
import { archiveProject, findProject, updateProject } from '../../store/projects/projects.ts'
import { requestCut, withdrawCut } from '../../store/calls/retention-cuts.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import { audited } from '../audited.ts'
import type { Call } from '../console-request.ts'
import { notThere, route, wrongFields } from '../route.ts'
import type { World } from '../world.ts'

export function projectSettingsRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/settings', async ({ db, project }) => {
    const row = await projectOf(db, project.id)
    return {
      ...settingsOf(row),
      servedModels: await listServedModels(db),
      limits: {
        requestsPerMinute: row.requests_per_minute,
        tokensPerMinute: row.tokens_per_minute,
        concurrentCalls: row.concurrent_calls,
      },
      keyPairs: await countKeyPairs(db, project.id),
      balanceNanos: row.balance_nanos,
    }
  })

  route(app, world, 'PATCH /api/projects/:project/settings', async (call) => {
    if (call.body.allowedModels !== undefined) await changeModels(call, call.body.allowedModels)
    if (call.body.contentRetentionDays !== undefined) await changeRetention(call, call.body.contentRetentionDays)
    return settingsOf(await projectOf(call.db, call.project.id))
  })

  route(app, world, 'DELETE /api/projects/:project', async (call) => {
    const { db, project, body } = call
    const { balance_nanos: balance, owed_nanos: owed, domain } = await projectOf(db, project.id)
    // Nobody could pay it any more, and the account's other projects would stay refused.
    if (owed > 0n)
      throw new ParleyError('conflict', {
        message: `${formatCredits(owed)} of credit is owed. Top up the wallet first: what is owed is paid by that.`,
      })
    if (balance > 0n && !body.leavesCredit)
      throw new ParleyError('conflict', {
        message: `${formatCredits(balance)} of credit is left. Say that it may stay behind, or use it first.`,
      })
    await archiveProject(db, project.id)
    const details = { domain, balanceLeft: formatCredits(balance) }
    await audited(call, 'project.deleted', { subject: project.name, details })
    return { done: true }
  })
}

type Patch = Call<'PATCH /api/projects/:project/settings'>

/** A model that is not served any more may stay in a list that it is in; a new one has to be there. */
async function changeModels(call: Patch, wanted: string[] | null): Promise<void> {
  const { db, project } = call
  const { allowed_models: before } = await projectOf(db, project.id)
  const models = wanted && [...new Set(wanted)].toSorted()
  const known = new Set([...(await listServedModels(db)).map(({ id }) => id), ...(before ?? [])])
  const unknown = models?.find((id) => !known.has(id))
  if (unknown !== undefined)
    throw wrongFields([{ path: 'allowedModels', message: `There is no model ${unknown} to choose.` }])
  await updateProject(db, project.id, { allowed_models: models })
  const added = models?.filter((id) => !before?.includes(id)).slice(0, 20)
  const removed = before?.filter((id) => !models?.includes(id)).slice(0, 20)
  const details = { before: before?.length ?? 'all', after: models?.length ?? 'all', added, removed }
  await audited(call, 'project.models_changed', { subject: project.name, details })
}

/** Text that is there follows a shorter time, and keeps the one that it was stored with when the new one is longer. */
async function changeRetention(call: Patch, days: number): Promise<void> {
  const { db, project } = call
  const { content_retention_days: before } = await projectOf(db, project.id)
  if (before === days) return
  await updateProject(db, project.id, { content_retention_days: days })
  await (days < before ? requestCut(db, project.id, days) : withdrawCut(db, project.id))
  await audited(call, 'project.retention_changed', { subject: project.name, details: { before, after: days } })
}

async function projectOf(db: Db, id: string) {
  const row = await findProject(db, id)
  if (!row) throw notThere('project')
  return row
}

function settingsOf(row: Awaited<ReturnType<typeof projectOf>>) {
  return { name: row.name, allowedModels: row.allowed_models, contentRetentionDays: row.content_retention_days }
}
