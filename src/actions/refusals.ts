import { includesAdvertiserRole, type AdvertiserRole } from '../rules/accounts/advertisers.ts'
import { includesRole, type MemberRole } from '../rules/accounts/roles.ts'
import { ParleyError } from '../rules/errors.ts'

/** Refusals of actions, in words for the person who asked: pages show them beside a field, commands print them. */

/** The same words for what does not exist and for what is somebody else's. */
export function notThere(noun: string): ParleyError {
  return new ParleyError('not_found', { message: `There is no such ${noun}, or you have no access to it.` })
}

/** 422, with what is wrong beside each field. */
export function wrongFields(fields: { path: string; message: string }[]): ParleyError {
  const [first] = fields
  const message = first ? `${first.path}: ${first.message}` : undefined
  return new ParleyError('invalid_value', { message, param: first?.path, fields })
}

export function wrongField(path: string, message: string): ParleyError {
  return wrongFields([{ path, message }])
}

export function conflict(message: string): ParleyError {
  return new ParleyError('conflict', { message })
}

export function requireRole(held: MemberRole, needed: MemberRole): void {
  if (includesRole(held, needed)) return
  const whom = needed === 'owner' ? 'an owner' : 'an owner or an admin'
  const message = `This needs the role ${needed}, but you are ${held}. Ask ${whom} of the account.`
  throw new ParleyError('role_too_low', { message })
}

export function requireAdvertiserRole(held: AdvertiserRole, needed: AdvertiserRole): void {
  if (includesAdvertiserRole(held, needed)) return
  const message = `This needs the role ${needed}, but you are ${held}. Ask an admin of the advertiser.`
  throw new ParleyError('role_too_low', { message })
}
