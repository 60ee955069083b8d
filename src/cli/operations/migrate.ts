import type { Command } from 'commander'
import type { Config } from '../../config.ts'
import { visibleText } from '../../rules/visible-text.ts'
import { migrate, pendingMigrations, sentenceOfWait, type MigrationProgress } from '../../store/migrate.ts'
import type { Output } from '../print.ts'
import { addCommand, withConfig } from '../session.ts'

export function addMigrateCommand(program: Command): void {
  addCommand(program, 'migrate', 'bring the database to this version', 'parley migrate')
    .option('--functions', 'apply every function again, whatever the database has in its place')
    .action(withConfig(run))
}

interface MigrateOptions {
  json?: boolean
  functions?: boolean
}

async function run(config: Config, { json = false, functions: allFunctions = false }: MigrateOptions): Promise<Output> {
  // Asked first because it gives up soon: migrating itself waits for a connection as long as it takes.
  await pendingMigrations(config.DATABASE_URL)
  const progress: MigrationProgress = {
    // As it happens: a migration can take minutes.
    onApplied: (name) => json || console.log(`applied ${name}`),
    onFunctionApplied: (name) => json || console.log(`applied function ${name}`),
    onWait: (wait) => console.error(visibleText(sentenceOfWait(wait))),
    onQueue: () => console.error('Another process is migrating this database; waiting for it to end.'),
  }
  const report = await migrate(config.DATABASE_URL, progress, undefined, { allFunctions })
  const { applied, newer, total, functions, newerFunctions, editedFunctions } = report
  if (newer.length > 0) console.error(`a newer version has migrated the database: ${newer.join(', ')}`)
  for (const name of newerFunctions) console.error(`left function ${name}: another version has applied another one`)
  if (newerFunctions.length > 0) console.error('If that version is gone for good, run: parley migrate --functions')
  for (const name of editedFunctions) {
    console.error(`function ${name} differs from what Parley applied. Run: parley migrate --functions`)
  }
  return {
    document: { applied, newer, total, functions, newer_functions: newerFunctions, edited_functions: editedFunctions },
    text: `The database has all ${total} migrations.`,
  }
}
