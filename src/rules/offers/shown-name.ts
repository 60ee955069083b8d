import { copyProblemOf } from './copy-problems.ts'
import { cleanCopy } from './copy.ts'

const NAME_CHARS_MAX = 60

/** Why an advertiser cannot be called so: readers see its name, so what holds for all of its words holds for it. */
export function shownNameProblemOf(name: string): string | undefined {
  if (name === '' || name.length > NAME_CHARS_MAX) return `A name has 1 to ${NAME_CHARS_MAX} characters.`
  const problem = copyProblemOf(name)
  if (problem !== undefined) return `It cannot be shown: ${problem}.`
  if (cleanCopy(name) !== name) return 'It contains an address, or characters that cannot be shown. Use plain text.'
  return undefined
}
