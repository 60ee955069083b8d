/**
 * The events of an answer are nearly all the same but for the piece of text in them. What stands around it is compared, which
 * takes a third of the time that parsing takes, and never guessed: an event that differs in anything else is parsed.
 */
export interface TextFrame {
  /** The text of an event that differs from one that was parsed in its text alone. Undefined: it must be parsed. */
  textIn(data: string): string | undefined
  /** Told of each event that was parsed and brought this text and nothing else. */
  learn(data: string, text: string): void
}

/** Characters that JSON escapes in a string, or that end it, and a few control characters that it does not mind. */
const NOT_AS_IT_IS = /["\\\p{Cc}]/u
/** A text that was cut out may keep the whole event in memory. */
const FRAME_CHARACTERS_MAX = 512
/** In a row without any use: some have something new in every event, and learning costs as much as parsing. */
const TRIES_MAX = 3

/** `parsedTextIn`: the text of an event that brings nothing else, by parsing it. */
export function createTextFrame(parsedTextIn: (data: string) => string | undefined): TextFrame {
  let before: string | undefined
  let after = ''
  let triesLeft = TRIES_MAX
  return {
    textIn(data) {
      if (before === undefined || data.length <= before.length + after.length) return undefined
      const end = data.length - after.length
      // Cut out and compared as a whole: `startsWith` goes character by character and takes longer than parsing.
      if (data.slice(0, before.length) !== before || data.slice(end) !== after) return undefined
      const text = data.slice(before.length, end)
      if (NOT_AS_IT_IS.test(text)) return undefined
      triesLeft = TRIES_MAX
      return text
    },
    learn(data, text) {
      if (triesLeft === 0 || NOT_AS_IT_IS.test(text) || data.length - text.length > FRAME_CHARACTERS_MAX) return
      triesLeft -= 1
      const start = data.lastIndexOf(`"${text}"`) + 1
      const [left, right] = [data.slice(0, start), data.slice(start + text.length)]
      // The same words may stand elsewhere in the event: then it is another place that was found.
      const another = `${text}.`
      if (start > 0 && parsedTextIn(left + another + right) === another) [before, after] = [left, right]
    },
  }
}
