import { fieldsIn } from '../record.ts'

/** The user that a call is for, in the publisher's own words. */
export const END_USER_CHARACTERS_MAX = 512
const LABEL_CHARACTERS_MAX = 200

/**
 * The header, or else what the SDKs send in the body. A value that cannot be one is no reason to refuse a call: the next one
 * counts, or there is none.
 */
export function endUserIdOf(header: string | undefined, body: unknown): string | undefined {
  const { safety_identifier, user } = fieldsIn(body)
  return [header, safety_identifier, user].find(isEndUser)
}

function isEndUser(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= END_USER_CHARACTERS_MAX
}

/** Returns the label that the publisher wants to see in lists instead of an id. Control characters would spoil them. */
export function endUserLabelOf(header: string | undefined): string | undefined {
  const label = header?.replaceAll(/\p{C}/gu, '').trim().slice(0, LABEL_CHARACTERS_MAX)
  return label || undefined
}
