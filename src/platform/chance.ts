import { randomFillSync } from 'node:crypto'

/** Gives numbers from 0 to below 1 that nobody outside can foresee, as those of Math.random can be. */
export function createChance(): () => number {
  const numbers = new Uint32Array(256)
  let next = numbers.length
  return () => {
    if (next === numbers.length) {
      randomFillSync(numbers)
      next = 0
    }
    return (numbers[next++] ?? 0) / 2 ** 32
  }
}
