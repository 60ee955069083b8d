/** What stands in a field whose value is kept elsewhere, such as in the address, and is told there a moment after typing. */
export interface TypedText {
  text: string
  /** The value that the field was given last. */
  given: string
  /** What was told and has not come back yet as the value. */
  told?: string | undefined
}

/** A value that changes from outside, by "back" or by clearing, is followed; one that was told takes no later letter away. */
export function followed(field: TypedText, value: string): TypedText {
  if (field.given === value) return field
  return { text: field.told === value ? field.text : value, given: value }
}
