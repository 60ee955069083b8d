/**
 * A value that everybody may see and that takes a moment to find out: asked for once every so often, however many look. When
 * it cannot be found out, the last one is kept: a page that says what was measured until when is worth more than an error.
 */
export function createKept<T>(forMs: number, find: () => Promise<T>, elapsedMs: () => number) {
  let last: { value: T } | undefined
  let asking: Promise<T> | undefined
  let askedMs = -Infinity
  async function ask(): Promise<T> {
    try {
      last = { value: await find() }
    } catch (error) {
      if (!last) throw error
    } finally {
      askedMs = elapsedMs()
      asking = undefined
    }
    return last.value
  }
  return (): Promise<T> => {
    if (last && elapsedMs() - askedMs < forMs) return Promise.resolve(last.value)
    return (asking ??= ask())
  }
}
