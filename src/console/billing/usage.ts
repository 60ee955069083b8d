import type { FastifyInstance } from 'fastify'
import { wrongFields } from '../../actions/refusals.ts'
import { csvOf } from '../../rules/csv.ts'
import { breakdownOf, TOKEN_CLASSES, type Breakdown } from '../../rules/billing/costs.ts'
import { formatAmount } from '../../rules/money.ts'
import { spanBefore, spanOf, type AskedSpan, type Span } from '../../rules/billing/usage-spans.ts'
import type { Db } from '../../store/database.ts'
import { listProjects } from '../../store/projects/projects.ts'
import {
  findUsageProgress,
  listGroupNames,
  sumBilled,
  sumUsageBriefly,
  sumUsageByGroup,
  sumUsageByTime,
  sumUsageByTimeAndGroup,
  type BilledAtPrice,
  type UsageGroup,
} from '../../store/billing/usage.ts'
import { route } from '../route.ts'
import { forecastOf } from './forecast.ts'
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
  const groups = await sumUsageByGroup(db, asked, by)
  const times = await sumUsageByTime(db, asked)
  return {
    ...span,
    by,
    upTo: await findUsageProgress(db),
    totals: detailsOf(totalOf(times)),
    previous: sumsOf(await sumUsageBriefly(db, { projectIds, ...spanBefore(span) })),
    groups: groups.map((group) =>
      Object.assign(detailsOf(group), { id: group.group, label: labelOf(group.group, by, names) }),
    ),
    points: pointsOf(span, times, await sumUsageByTimeAndGroup(db, asked, by)),
  }
}

function labelOf(group: string, by: UsageGroup, names: Map<string, string>): string {
  return by === 'model' ? group : (names.get(group) ?? 'Deleted')
}

const USAGE_HEADER = [
  'starts at (UTC)',
  'group',
  'name',
  'calls',
  'failed',
  'input tokens',
  'cached input tokens',
].concat(['cache write tokens', 'output tokens', 'reasoning tokens', 'charged (USD)'])

/** The rows of the chart, one for each hour or day and group: what the page's table shows. */
async function usageCsv(db: Db, projectIds: string[], span: Span, by: UsageGroup): Promise<string> {
  const names = await listGroupNames(db, by, projectIds)
  const points = await sumUsageByTimeAndGroup(db, { projectIds, ...span }, by)
  const rows = points.map((point) => {
    const { calls, failed, tokens, chargedNanos } = sumsOf(point)
    const counts = [calls, failed, ...TOKEN_CLASSES.map((name) => tokens[name])].map(String)
    return [point.at.toISOString(), point.group, labelOf(point.group, by, names)].concat(
      counts,
      formatAmount(chargedNanos),
    )
  })
  return csvOf(USAGE_HEADER, rows)
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
  const [input, cachedInput, cacheWrite, output, reasoning] = TOKEN_CLASSES.map((name) => ({
    tokens: Number(classes[name].tokens),
    nanos: classes[name].nanos,
  })) as [ClassSum, ClassSum, ClassSum, ClassSum, ClassSum]
  return {
    classes: { input, cachedInput, cacheWrite, output, reasoning },
    roundingNanos: rounding,
    notChargedNanos: notCharged,
    chargedNanos: charged,
  }
}

interface ClassSum {
  tokens: number
  nanos: bigint
}

const COSTS_HEADER = ['model', 'price version', 'effective from (UTC)', 'calls', 'class', 'tokens'].concat([
  'price per million (USD)',
  'cost (USD, rounded down to a nano)',
])

/** One row for each price version and class, and two that say what makes their sum the charge. */
function costsCsv(billed: readonly BilledAtPrice[]): string {
  const rows = billed.flatMap((part) => {
    const { classes, rounding, notCharged } = breakdownOf([part])
    const head = [part.modelId, String(part.version), part.effectiveFrom.toISOString(), String(part.calls)]
    return [
      ...TOKEN_CLASSES.map((name) =>
        head.concat([
          name,
          String(classes[name].tokens),
          formatAmount(part.price[name]),
          formatAmount(classes[name].nanos),
        ]),
      ),
      [...head, 'rounding up, per call', '', '', formatAmount(rounding)],
      [...head, 'not charged', '', '', notCharged === 0n ? '0.00' : formatAmount(-notCharged)],
    ]
  })
  return csvOf(COSTS_HEADER, rows)
}
