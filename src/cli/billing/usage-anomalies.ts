import type { Command } from 'commander'
import { HOUR_MS } from '../../rules/durations.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { endpointOf } from '../../rules/endpoints.ts'
import { listAnomalies, sumAnomalies } from '../../store/billing/usage-anomalies.ts'
import { rowsOf, wholeNumber } from '../arguments.ts'
import { expectId } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'

interface Options {
  hours: number
  limit: number
  project?: string
  provider?: string
}

export function addAnomalyCommand(program: Command): void {
  addCommand(
    program,
    'anomalies',
    'show usage reported by providers that cannot be right',
    'parley anomalies --hours 24 --provider openai',
  )
    .option('--hours <n>', 'how far back', wholeNumber(1, 24 * 90), 24)
    .option('--project <id>', 'only calls of this project')
    .option('--provider <name>', 'only answers of this provider')
    .option('--limit <n>', 'how many calls', rowsOf, 20)
    .action(withStore(show))
}

async function show({ db }: Session, { hours, limit, project, provider }: Options): Promise<Output> {
  if (project !== undefined) expectId('project', project)
  const sinceMs = hours * HOUR_MS
  const isFiltered = project !== undefined || provider !== undefined
  const search = { sinceMs, projectId: project, provider }
  const sums = await sumAnomalies(db, search)
  const calls = await listAnomalies(db, search, limit)
  const bySum = table(
    sums.map((sum) => ({
      provider: sum.provider,
      kind: sum.kind,
      calls: sum.calls,
      projects: sum.projects,
      'most of them': `${sum.project} (${sum.projectCalls})`,
    })),
    `In the last ${hours} hours no provider reported anything odd${isFiltered ? ' that matches' : ''}.`,
  )
  const byCall = table(
    calls.map((call) => ({
      time: call.created_at,
      call: completionIdOf(call.call_id, endpointOf(call.endpoint)),
      project: call.project_id,
      provider: call.provider,
      model: call.model_id,
      kinds: call.anomalies,
      // Not word for word: what adapters derive from it, such as input = prompt - cached, can be below zero.
      'reported, in our buckets': call.reported === null ? null : JSON.stringify(call.reported),
    })),
    'There is no such call.',
  )
  return { document: { providers: sums, calls }, text: sums.length === 0 ? bySum : `${bySum}\n\n${byCall}` }
}
