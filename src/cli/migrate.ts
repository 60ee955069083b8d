import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { migrate, pendingMigrations } from '../store/migrate.ts'
import type { Output } from './print.ts'
import { addCommand, withConfig } from './session.ts'

export function addMigrateCommand(program: Command): void {
  addCommand(program, 'migrate', 'bring the database to this version', 'parley migrate').action(withConfig(run))
}

async function run(config: Config): Promise<Output> {
  // Asked first because it gives up soon: migrating itself waits for a connection as long as it takes.
  await pendingMigrations(config.DATABASE_URL)
  const { applied, total } = await migrate(config.DATABASE_URL)
  const lines = applied.map((name) => `applied ${name}`)
  return {
    document: { applied, total },
    text: [...lines, `The database has all ${total} migrations.`].join('\n'),
  }
}
