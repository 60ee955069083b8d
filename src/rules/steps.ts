/** Long work that is written as a generator, so that it can be done at once or with others having a turn between its steps. */
export type Steps<T> = Generator<void, T>

export function allAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
