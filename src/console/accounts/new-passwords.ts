import { wrongFields } from '../../actions/refusals.ts'
import { weaknessOf } from '../../rules/accounts/passwords.ts'
import { withPasswords } from './auth-errors.ts'

import type { World } from '../world.ts'

type Field = 'password' | 'newPassword'

/** Refuses a password that is among the first that are tried. */
export async function hashOfNew({ passwords }: World, password: string, email: string, field: Field): Promise<string> {
  const weakness = weaknessOf(password, email)
  if (weakness !== undefined) throw wrongFields([{ path: field, message: weakness }])
  return withPasswords(() => passwords.hash(password))
}
