/** By how much something grew: 0.5 is half as much again. Against nothing there is no change to speak of. */
export function changeOf(now: number | null | undefined, before: number | null | undefined): number | undefined {
  return now == null || !before ? undefined : now / before - 1
}
