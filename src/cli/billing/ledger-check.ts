import type { Command } from 'commander'
import { INVARIANTS } from '../../rules/billing/invariants.ts'
import { checkLedger, type LedgerCheck } from '../../store/billing/ledger-check/ledger-check.ts'
import { table, type Output } from '../print.ts'
import { addCommand, withStore, type Session } from '../session.ts'

export function addAuditCommand(program: Command): void {
  addCommand(program, 'audit', 'check the whole ledger, without disturbing it', 'parley audit --full')
    .option('--full', 'read every entry from the start, including what was checked before')
    .action(withStore(check))
}

async function check({ config, db }: Session, options: { full?: boolean }): Promise<Output> {
  return outputOf(await checkLedger(db, { isFull: options.full ?? false, leaseMs: config.PARLEY_LEASE_MS }))
}

function outputOf({ verdicts, seconds, ...pass }: LedgerCheck): Output {
  const broken = verdicts.filter(({ violations }) => violations > 0)
  const examples = broken.flatMap(({ invariant, examples: rows }) => rows.map((row) => ({ invariant, ...row })))
  return {
    document: {
      ok: broken.length === 0,
      pass: pass.isFull ? 'full' : 'incremental',
      seconds: Number(seconds.toFixed(3)),
      since: pass.since ?? null,
      through: pass.through,
      full_at: pass.fullAt,
      charges_before: Number(pass.chargesBefore),
      invariants: verdicts.map(({ invariant, checked, of, violations, examples: rows }) => {
        return { invariant, means: INVARIANTS[invariant], checked, of, violations, examples: rows }
      }),
    },
    text: [
      table(
        verdicts.map(({ invariant, checked, of, violations }) => ({
          invariant,
          checked: `${whole(checked)} ${of}`,
          violations: whole(violations),
          means: INVARIANTS[invariant],
        })),
        '',
      ),
      ...(examples.length > 0 ? [table(examples, '')] : []),
      `${rangeOf(pass)} ${seconds.toFixed(1)} s. ${summaryOf(broken.length)}`,
    ].join('\n\n'),
    exitCode: broken.length === 0 ? 0 : 1,
  }
}

function rangeOf({ since, fullAt, chargesBefore }: Pick<LedgerCheck, 'since' | 'fullAt' | 'chargesBefore'>): string {
  if (!since) return 'Everything was read.'
  return (
    `Read everything settled since ${since.toISOString()}; ` +
    `${whole(Number(chargesBefore))} charges before were read earlier, and everything last at ${fullAt.toISOString()}.`
  )
}

function summaryOf(broken: number): string {
  if (broken === 0) return 'No violations.'
  return `${broken} ${broken === 1 ? 'invariant is' : 'invariants are'} broken.`
}

function whole(value: number): string {
  return value.toLocaleString('en-US')
}
