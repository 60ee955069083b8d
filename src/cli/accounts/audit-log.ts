import type { Command } from 'commander'
import { firstBrokenEntry, INSTALLATION, listAuditLog } from '../../store/accounts/audit-log.ts'
import { rowsOf } from '../arguments.ts'
import { expectId } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'

export function addAuditLogCommand(program: Command): void {
  addCommand(
    program,
    'audit-log',
    'show who changed what, the newest first, and whether anybody altered the log',
    'parley audit-log --limit 20',
  )
    .option('--publisher <id>', "a publisher's log (default: the installation's: providers, models, advertisers)")
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(show))
}

async function show({ db }: Session, options: { publisher?: string; limit: number }): Promise<Output> {
  if (options.publisher !== undefined) expectId('publisher', options.publisher)
  const publisherId = options.publisher ?? INSTALLATION
  const entries = await listAuditLog(db, publisherId, {}, options.limit)
  const broken = await firstBrokenEntry(db, publisherId)
  const rows = table(
    entries.map(({ seq, at, actor, action, subject, project_id, details }) => ({
      number: seq,
      time: at,
      actor,
      action,
      subject,
      project: project_id,
      details: JSON.stringify(details),
    })),
    'Nothing was changed yet.',
  )
  const verdict = broken === undefined ? 'The log is whole.' : `Entry ${broken} was altered, or one before it removed.`
  return {
    document: { entries, first_broken: broken ?? null },
    text: `${rows}\n\n${verdict}`,
    exitCode: broken === undefined ? 0 : 1,
  }
}
