import type { Db } from '../../store/database.ts'
import { findRoleFaults } from '../../store/database-roles.ts'
import type { Finding } from './checks.ts'

const check = 'roles'
const MEND_ROLES = 'Run "parley database roles" as the owner, or as an administrator.'
const MEND_RESTORE =
  'It was restored on a server without the roles: run "parley database roles", and restore once more into an empty database.'

/** Whether the planes' roles are as the migrations left them: a restore can lose what is theirs, and says so only in passing. */
export async function checkRoles(db: Db): Promise<Finding[]> {
  const { missing, isTenantWrong, closed, open } = await findRoleFaults(db)
  const found: Finding[] = []
  const problem = (detail: string, mend: string) => found.push({ check, state: 'problem', detail, mend })
  if (missing.length > 0) problem(`the server has no ${missing.join(', ')}`, MEND_ROLES)
  if (isTenantWrong) problem('parley_tenant cannot become parley_advertiser, or always has its rights', MEND_ROLES)
  if (closed.length > 0) problem(`nobody may read ${closed.join(', ')}: the policies are gone`, MEND_RESTORE)
  if (open.length > 0)
    problem(`anybody may call ${open.join(', ')}: the grants are not those of the migrations`, MEND_RESTORE)
  return found.length > 0 ? found : [{ check, state: 'ok', detail: 'all there, with what is theirs' }]
}
