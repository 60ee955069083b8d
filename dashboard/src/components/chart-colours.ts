/**
 * The same thing has the same colour on every page: it is chosen by its name, and by the next free one where two collide.
 * What comes first in the list chooses first.
 */
const COLOURS = 5
/** For everything beyond, and for "other". */
export const OTHER_COLOUR = 'var(--chart-6)'

export function coloursOf(names: readonly string[]): Map<string, string> {
  const taken = new Set<number>()
  const colours = new Map<string, string>()
  for (const name of names) {
    const free = slotOf(name, taken)
    if (free !== undefined) taken.add(free)
    colours.set(name, free === undefined ? OTHER_COLOUR : `var(--chart-${free + 1})`)
  }
  return colours
}

function slotOf(name: string, taken: ReadonlySet<number>): number | undefined {
  let hash = 7
  for (let n = 0; n < name.length; n++) hash = (hash * 31 + name.charCodeAt(n)) % 65_521
  for (let n = 0; n < COLOURS; n++) {
    const slot = (hash + n) % COLOURS
    if (!taken.has(slot)) return slot
  }
  return undefined
}
