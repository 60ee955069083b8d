import type { Command } from 'commander'
import type { Config } from '../../config.ts'
import { createRoles } from '../../store/database-roles.ts'
import type { Output } from '../print.ts'
import { addCommand, withConfig } from '../session.ts'

export function addRolesCommand(database: Command): void {
  addCommand(
    database,
    'roles',
    'create the roles that a restore needs, on a server that lacks them',
    'parley database roles',
  ).action(withConfig(run))
}

async function run(config: Config): Promise<Output> {
  const created = await createRoles(config.DATABASE_URL)
  const text = created.length > 0 ? created.map((name) => `made ${name}`).join('\n') : 'The server has all roles.'
  return { document: { created }, text }
}
