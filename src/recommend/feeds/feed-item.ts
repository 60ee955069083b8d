import type { FeedFields } from '../../rules/offers/field-names.ts'

/** An item, or why it could not be read at all. */
export type FeedItem = { fields: FeedFields } | { problem: string }

/** Merchant feeds have about ninety. */
export const FIELDS_MAX = 500
/** Ten times what is kept of a description: shops send theirs with the HTML of their pages. */
export const FIELD_CHARS_MAX = 50_000

/** The item that these fields make, unless they are more, or longer, than those of a product. */
export function itemOf(fields: FeedFields): FeedItem {
  const values = Object.values(fields)
  if (values.length > FIELDS_MAX) return { problem: `it has more than ${FIELDS_MAX} fields` }
  const isTooLong = values.some((value) => value !== undefined && value.length > FIELD_CHARS_MAX)
  return isTooLong ? { problem: `it has a field of more than ${FIELD_CHARS_MAX} characters` } : { fields }
}
