/** The text of a field whose value is kept elsewhere, such as in the address, and is passed on a moment after typing. */
export interface TypedText {
  text: string
  /** The value that the field was given last. */
  given: string
  /** The text that was passed on and has not come back yet as the value. */
  told?: string | undefined
}

/** A value that changes from outside, by "back" or by clearing, is followed; one that was passed on removes no later letter. */
export function followed(field: TypedText, value: string): TypedText {
  if (field.given === value) return field
  return { text: field.told === value ? field.text : value, given: value }
}
