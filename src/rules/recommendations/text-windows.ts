/**
 * Parts of a long text that are judged one by one: in the vector of a whole page one sentence is lost, and the model reads
 * no more than its first 256 tokens. Neighbours overlap, so that every sentence stands whole in one of them.
 */

export const WINDOW_LIMITS = {
  characters: 400,
  overlapCharacters: 120,
  /** About as much as the model reads. */
  wholeCharacters: 1000,
} as const

/** The whole text as far as a model reads it, and when it is longer than a window, all its windows. */
export function windowsOf(text: string): string[] {
  const { characters, overlapCharacters, wholeCharacters } = WINDOW_LIMITS
  const trimmed = text.trim()
  const windows = [trimmed.slice(0, wholeCharacters)]
  if (trimmed.length <= characters) return windows
  for (let start = 0; start < trimmed.length - overlapCharacters; start += characters - overlapCharacters) {
    windows.push(trimmed.slice(wordStart(trimmed, start), start + characters))
  }
  return windows
}

/** A word that was cut in two means something else, or nothing. Texts without spaces are cut where they must be. */
function wordStart(text: string, start: number): number {
  if (start === 0) return 0
  const space = text.indexOf(' ', start)
  return space === -1 || space > start + WINDOW_LIMITS.overlapCharacters ? start : space + 1
}
