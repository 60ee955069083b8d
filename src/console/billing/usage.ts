import type { FastifyInstance } from 'fastify'
import { wrongFields } from '../../actions/refusals.ts'
import { breakdownOf, savedByCaches, type Breakdown } from '../../rules/billing/costs.ts'
import { perClass } from '../../rules/billing/usage.ts'
import { spanBefore, spanOf, type AskedSpan, type Span } from '../../rules/billing/usage-spans.ts'
import type { Db } from '../../store/database.ts'
import { listProjects } from '../../store/projects/projects.ts'
import {
  findUsageProgress,
  listGroupNames,
  sumBilled,
  sumUsageBothWays,
  sumUsageBriefly,
  sumUsageByTimeAndGroup,
  type BilledAtPrice,
  type UsageGroup,
} from '../../store/billing/usage.ts'
import { route } from '../route.ts'
import { forecastOf } from './forecast.ts'
import { costsCsv, labelOf, usageCsv } from './usage-csv.ts'
import { detailsOf, pointsOf, sumsOf, totalOf } from './usage-replies.ts'
import type { World } from '../world.ts'

export function usageRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/usage', ({ db, project, query }) =>
    usageReplyOf(db, [project.id], checkedSpan(query), query.by),
  )

  route(app, world, 'GET /api/publishers/:publisher/usage', async ({ db, publisher, query }) => {
    const projects = await listProjects(db, publisher.id)
    return usageReplyOf(
      db,
      projects.map(({ id }) => id),
      checkedSpan(query),
      query.by,
    )
  })

  route(app, world, 'GET /api/projects/:project/usage.csv', ({ db, project, query }) =>
    usageCsv(db, [project.id], checkedSpan(query), query.by),
  )

  route(app, world, 'GET /api/projects/:project/costs', ({ db, project, query }) =>
    costsOf(db, project.id, checkedSpan({ every: 'day', ...query })),
  )

  route(app, world, 'GET /api/projects/:project/costs.csv', async ({ db, project, query }) => {
    const billed = await sumBilled(db, { projectIds: [project.id], ...checkedSpan({ every: 'day', ...query }) })
    return costsCsv(billed)
  })
}

function checkedSpan(asked: AskedSpan): Span {
  const span = spanOf(asked, new Date())
  if (typeof span === 'string') throw wrongFields([{ path: 'from', message: span }])
  return span
}

async function usageReplyOf(db: Db, projectIds: string[], span: Span, by: UsageGroup) {
  const asked = { projectIds, ...span }
  const names = await listGroupNames(db, by, projectIds)
  const { groups, times } = await sumUsageBothWays(db, asked, by)
  return {
    ...span,
    by,
    upTo: await findUsageProgress(db),
    totals: detailsOf(totalOf(times)),
    savedNanos: savedByCaches(await sumBilled(db, asked)),
    previous: sumsOf(await sumUsageBriefly(db, { projectIds, ...spanBefore(span) })),
    groups: groups.map((group) =>
      Object.assign(detailsOf(group), { id: group.group, label: labelOf(group.group, by, names) }),
    ),
    points: pointsOf(span, times, await sumUsageByTimeAndGroup(db, asked, by)),
  }
}

async function costsOf(db: Db, projectId: string, span: Span) {
  const asked = { projectIds: [projectId], ...span }
  const billed = await sumBilled(db, asked)
  const models = [...Map.groupBy(billed, ({ modelId }) => modelId)]
  const before = await sumUsageBriefly(db, { projectIds: [projectId], ...spanBefore(span) })
  return {
    ...span,
    upTo: await findUsageProgress(db),
    ...countsOf(billed),
    total: breakdownReply(breakdownOf(billed)),
    previousChargedNanos: before.charged,
    models: models.map(([model, parts]) =>
      Object.assign({ model }, countsOf(parts), breakdownReply(breakdownOf(parts))),
    ),
    prices: billed.map(({ version, modelId, effectiveFrom, price, calls, charged }) => ({
      version,
      model: modelId,
      effectiveFrom,
      price,
      calls: Number(calls),
      chargedNanos: charged,
    })),
    forecast: await forecastOf(db, projectId),
  }
}

function countsOf(billed: readonly BilledAtPrice[]) {
  const calls = billed.reduce((sum, part) => sum + part.calls, 0n)
  const billedCalls = billed.reduce((sum, part) => sum + part.billedCalls, 0n)
  const charged = billed.reduce((sum, part) => sum + part.charged, 0n)
  const averageNanos = billedCalls === 0n ? null : charged / billedCalls
  return { calls: Number(calls), billedCalls: Number(billedCalls), averageNanos }
}

function breakdownReply({ classes, rounding, notCharged, charged }: Breakdown) {
  return {
    classes: perClass((name) => ({ tokens: Number(classes[name].tokens), nanos: classes[name].nanos })),
    roundingNanos: rounding,
    notChargedNanos: notCharged,
    chargedNanos: charged,
  }
}
