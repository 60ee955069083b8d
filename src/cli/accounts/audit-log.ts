import type { Command } from 'commander'
import { digestOfEntry, firstBrokenEntry, INSTALLATION, listAuditLog } from '../../store/accounts/audit-log.ts'
import { rowsOf, wholeNumber } from '../arguments.ts'
import { expectId } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'

export function addAuditLogCommand(program: Command): void {
  addCommand(
    program,
    'audit-log',
    'show who changed what, newest first, and whether any entry was altered or removed',
    'parley audit-log --limit 20',
  )
    .option('--publisher <id>', "a publisher's log (default: the installation's: providers, models, advertisers)")
    .option('--limit <n>', 'how many', rowsOf, 50)
    .option('--until <number>', 'begin with this entry (default: the newest)', wholeNumber(1, NUMBER_MAX))
    .action(withStore(show))
}

const NUMBER_MAX = 2_147_483_647

interface ShowOptions {
  publisher?: string
  limit: number
  until?: number
}

async function show({ db }: Session, options: ShowOptions): Promise<Output> {
  if (options.publisher !== undefined) expectId('publisher', options.publisher)
  const publisherId = options.publisher ?? INSTALLATION
  const filters = options.until === undefined ? {} : { before: BigInt(options.until) + 1n }
  const entries = await listAuditLog(db, publisherId, filters, options.limit)
  const first = entries[0]
  const digest = first && (await digestOfEntry(db, publisherId, first.seq))
  const broken = await firstBrokenEntry(db, publisherId)
  const rows = table(
    entries.map(({ seq, at, actor_id, actor, action, subject, project_id, details }) => ({
      number: seq,
      time: at,
      // People choose their names, and two may have the same.
      actor: actor_id === null ? actor : `${actor} (${actor_id})`,
      action,
      subject,
      project: project_id,
      details: JSON.stringify(details),
    })),
    'The log is empty.',
  )
  const verdict = broken === undefined ? 'The log is intact.' : `Entry ${broken} was altered, or one before it removed.`
  return {
    document: { entries, first_broken: broken ?? null, first_digest: digest ?? null },
    text: `${rows}\n\n${verdict}${first ? `\nThe digest of entry ${first.seq} is ${digest}.` : ''}`,
    exitCode: broken === undefined ? 0 : 1,
  }
}
