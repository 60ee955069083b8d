/** Where a key leads in a list that is chosen from; from either end to the other. Undefined: the key does not move. */
export function movedTo<T>(key: string, items: readonly T[], current: T | undefined): T | undefined {
  const at = current === undefined ? -1 : items.indexOf(current)
  switch (key) {
    case 'ArrowDown':
      return items[at + 1] ?? items[0]
    case 'ArrowUp':
      return items[at - 1] ?? items.at(-1)
    case 'PageDown':
      return items[Math.min(at + PAGE, items.length - 1)]
    case 'PageUp':
      return items[Math.max(at - PAGE, 0)]
    default:
      return undefined
  }
}

const PAGE = 5
