import type { Command } from 'commander'
import type { Config } from '../../config.ts'
import { visibleText } from '../../rules/visible-text.ts'
import { migrate, pendingMigrations, sentenceOfWait } from '../../store/migrate.ts'
import type { Output } from '../print.ts'
import { addCommand, withConfig } from '../session.ts'

export function addMigrateCommand(program: Command): void {
  addCommand(program, 'migrate', 'bring the database to this version', 'parley migrate').action(withConfig(run))
}

async function run(config: Config, { json = false }: { json?: boolean }): Promise<Output> {
  // Asked first because it gives up soon: migrating itself waits for a connection as long as it takes.
  await pendingMigrations(config.DATABASE_URL)
  const { applied, total, functions, newerFunctions } = await migrate(config.DATABASE_URL, {
    // As it happens: a migration can take minutes.
    onApplied: (name) => json || console.log(`applied ${name}`),
    onFunctionApplied: (name) => json || console.log(`applied function ${name}`),
    onWait: (wait) => console.error(visibleText(sentenceOfWait(wait))),
    onQueue: () => console.error('Another process is migrating this database; waiting for it to end.'),
  })
  for (const name of newerFunctions) console.error(`left function ${name}: a newer version has another one`)
  return {
    document: { applied, total, functions, newer_functions: newerFunctions },
    text: `The database has all ${total} migrations.`,
  }
}
