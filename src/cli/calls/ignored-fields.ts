import type { Command } from 'commander'
import { suggestionFor } from '../../rules/calls/ignored-fields.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { listIgnoredFields } from '../../store/calls/ignored-fields.ts'
import { rowsOf } from '../arguments.ts'
import { table, type Output } from '../print.ts'
import { projectOf } from '../project-at-hand.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

export function addIgnoredFieldsCommand(program: Command): void {
  addCommand(
    program,
    'ignored-fields',
    'show fields of the last month’s requests that Parley does not know',
    `parley ignored-fields ${EXAMPLE_ID}`,
  )
    .argument('<project>')
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(list))
}

async function list({ db }: Session, projectId: string, options: { limit: number }): Promise<Output> {
  await projectOf(db, projectId)
  const found = await listIgnoredFields(db, projectId, { keptMs: KEPT_MS.ignoredFields, most: options.limit })
  return {
    document: found.map(({ name, times, lastAt }) => {
      return { name, times, last_at: lastAt, suggestion: suggestionFor(name) ?? null }
    }),
    text: table(
      found.map(({ name, times, lastAt }) => {
        return { field: name, times, 'last sent': lastAt, 'did you mean': suggestionFor(name) }
      }),
      'There are none: every field of the last month’s requests was a known one.',
    ),
  }
}
