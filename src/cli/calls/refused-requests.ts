import { Option, type Command } from 'commander'
import { explanationOf, REFUSAL_CODES } from '../../rules/refused-requests.ts'
import { listGroupNames } from '../../store/billing/usage.ts'
import { listRefusedRequests } from '../../store/calls/refused-requests.ts'
import { inTransaction } from '../../store/database.ts'
import { rowsOf } from '../arguments.ts'
import { table, type Output } from '../print.ts'
import { projectOf } from '../project-at-hand.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

export function addRefusalsCommand(program: Command): void {
  addCommand(
    program,
    'refusals',
    'show requests of the last 14 days that were refused before they reached a model',
    `parley refusals ${EXAMPLE_ID} --code invalid_value`,
  )
    .argument('<project>')
    .addOption(new Option('--code <code>', 'those with this error code').choices(REFUSAL_CODES))
    .option('--key <id>', 'those with this key pair')
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(list))
}

async function list(
  { db }: Session,
  projectId: string,
  options: { code?: string; key?: string; limit: number },
): Promise<Output> {
  await projectOf(db, projectId)
  const { code, key: keyPairId, limit: most } = options
  const search = { projectId, codes: code === undefined ? undefined : [code], keyPairId, most }
  const { rows, names } = await inTransaction(db, async (tx) => ({
    rows: (await listRefusedRequests(tx, search)).rows,
    names: await listGroupNames(tx, 'key', [projectId]),
  }))
  return {
    document: rows.map((row) => ({
      request_id: row.id,
      first_at: row.firstAt,
      last_at: row.lastAt,
      times: row.times,
      status: row.status,
      code: row.code,
      message: row.message,
      param: row.param,
      endpoint: row.endpoint,
      model: row.model,
      key_pair_id: row.keyPairId,
      browser_session: row.viaSession,
      what_to_do: explanationOf(row.code)?.advice ?? null,
    })),
    text: table(
      rows.map((row) => ({
        when: row.lastAt,
        times: row.times,
        status: row.status,
        code: row.code,
        key: names.get(row.keyPairId) ?? row.keyPairId,
        'request id': row.id,
        'what was said': row.message,
      })),
      'There are none: no request of the last 14 days was refused before it reached a model.',
    ),
  }
}
