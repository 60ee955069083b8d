import { closeAlert, openAlert, type AlertsInstallation } from '../actions/projects/alerts.ts'
import { createOneByOne } from '../platform/one-by-one.ts'
import { FIRST_UUID } from '../platform/uuid.ts'
import { changesOf, judge, measuredOfModel } from '../rules/alerts.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { CURRENT_MS, spansAt } from '../rules/upstreams/availability.ts'
import { sumAvailability, type SubjectSums } from '../store/billing/availability.ts'
import { findUsageProgress } from '../store/billing/usage.ts'
import type { Db } from '../store/database.ts'
import { listProvidersOfModels, listWatchedProjects, type WatchedProject } from '../store/projects/alert-facts.ts'
import { lockProject } from '../store/projects/projects.ts'
import { withTenant, type Tenants } from '../store/tenancy.ts'
import type { Job } from './job.ts'

/** Between the trouble and the mail about it, beside the seconds that adding up takes. */
const WATCH_EVERY_MS = MINUTE_MS
const PROJECTS_AT_ONCE = 500

export interface WatchOptions extends AlertsInstallation {
  db: Db
  tenants: Tenants
  signal: AbortSignal
}

export function watchAlertsJob(options: WatchOptions): Job {
  return { name: 'watch alerts', everyMs: WATCH_EVERY_MS, run: () => watchAlerts(options) }
}

/** Opens and closes the alerts of every project. Two workers at once open each alert once: the database sees to it. */
export async function watchAlerts(options: WatchOptions): Promise<void> {
  const { db, signal } = options
  const now = new Date()
  const through = await findUsageProgress(db)
  const isCurrent = through !== null && now.getTime() - through.getTime() < CURRENT_MS
  const measured = await measuredModels(db, now)
  const oneByOne = createOneByOne()
  let after = FIRST_UUID
  while (!signal.aborted) {
    const projects = await listWatchedProjects(db, after, PROJECTS_AT_ONCE)
    await oneByOne.each(projects, (project) => watchOne(options, project, { isCurrent, measured }))
    const last = projects.at(-1)
    if (!last || projects.length < PROJECTS_AT_ONCE) break
    after = last.id
  }
  oneByOne.throwFirst()
}

type MeasuredOf = (model: string) => ReturnType<typeof measuredOfModel>

async function measuredModels(db: Db, now: Date): Promise<MeasuredOf> {
  const sums = new Map<string, SubjectSums>()
  for (const each of await sumAvailability(db, spansAt(now))) sums.set(`${each.kind} ${each.name}`, each)
  const providers = await listProvidersOfModels(db)
  return (model) => {
    const serving = (providers.get(model) ?? []).map((name) => sums.get(`provider ${name}`))
    return measuredOfModel(sums.get(`model ${model}`), serving)
  }
}

async function watchOne(
  { tenants, secrets, consoleUrl }: WatchOptions,
  watched: WatchedProject,
  { isCurrent, measured }: { isCurrent: boolean; measured: MeasuredOf },
): Promise<void> {
  const models = watched.models.map((model) => ({ model, measured: measured(model) }))
  const { opens, closes } = changesOf(watched.open, judge({ ...watched, models }, watched.rules, isCurrent))
  if (opens.length === 0 && closes.length === 0) return
  const { id, name, publisherId } = watched
  const input = {
    project: { id, name, publisherId },
    hasBalanceMail: watched.walletAlert !== null,
    installation: { secrets, consoleUrl },
  }
  await withTenant(tenants, { publisherId, projectId: id }, async (tx) => {
    // It may have been deleted since it was read.
    if (!(await lockProject(tx, id))) return
    for (const alert of closes) await closeAlert(tx, input, alert)
    for (const alert of opens) await openAlert(tx, input, alert)
  })
}
