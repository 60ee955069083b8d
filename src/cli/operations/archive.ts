import type { Command } from 'commander'
import { MINUTE_MS } from '../../rules/durations.ts'
import { ARCHIVE_AFTER_DAYS_MIN, detachTable, listOldDays, sealDay } from '../../store/archive.ts'
import { checkLedger } from '../../store/billing/ledger-check/ledger-check.ts'
import { nameOfHolder } from '../../store/lock-waits.ts'
import { wholeNumber } from '../arguments.ts'
import { CliError } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'

const DAYS_MAX = 36_500

export function addArchiveCommand(program: Command): void {
  addCommand(
    program,
    'archive',
    'archive old days of charges, calls and recommendations; the ledger keeps their totals',
    'parley archive --older-than 400',
  )
    .requiredOption(
      '--older-than <days>',
      `days that ended longer ago, at least ${ARCHIVE_AFTER_DAYS_MIN}`,
      wholeNumber(ARCHIVE_AFTER_DAYS_MIN, DAYS_MAX),
    )
    .action(withStore(archive, { statementTimeoutMs: MINUTE_MS }))
}

async function archive({ config, db }: Session, options: { olderThan: number; json?: boolean }): Promise<Output> {
  const say = (line: string) => options.json || console.log(line)
  const { verdicts } = await checkLedger(db, { isFull: false, leaseMs: config.PARLEY_LEASE_MS })
  if (verdicts.some(({ violations }) => violations > 0)) {
    throw new CliError('The ledger breaks an invariant: nothing was archived. See: parley audit --full')
  }
  const archived: { day: string; charges: number; tables: string[] }[] = []
  for (const old of await listOldDays(db, options.olderThan)) {
    const { day } = old
    const charges = await sealDay(db, old)
    say(`sealed ${day}, charges: ${charges}`)
    const tables: string[] = []
    for (const each of old.tables) {
      const onWait = (holders: Parameters<typeof nameOfHolder>[0][]) => {
        const who = holders.length > 0 ? holders.map(nameOfHolder).join(', ') : 'another process'
        console.error(`${each.name} is in use by ${who}; retrying. Calls continue in the meantime.`)
      }
      tables.push(await detachTable(db, day, each, (holders) => onWait([...holders])))
      say(`detached ${tables.at(-1)}`)
    }
    archived.push({ day, charges, tables })
  }
  return { document: { older_than_days: options.olderThan, days: archived }, text: textOf(archived) }
}

function textOf(archived: readonly { day: string; charges: number; tables: string[] }[]): string {
  const names = archived.flatMap(({ tables }) => tables)
  if (names.length === 0) return 'There are no days to archive.'
  const rows = archived.map(({ day, charges, tables }) => ({ day, charges: String(charges), tables: tables.join(' ') }))
  return [
    table(rows, ''),
    'The tables are complete and detached. To keep them elsewhere, dump each one, then drop it:',
    `for t in ${names.join(' ')}; do pg_dump "$DATABASE_URL" -t $t -Fc -f $t.dump && psql "$DATABASE_URL" -c "drop table $t"; done`,
  ].join('\n\n')
}
