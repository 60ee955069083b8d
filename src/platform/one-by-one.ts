/** Work for many, in which the error of one keeps nobody else from their turn. */
export interface OneByOne {
  each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void>
  /** When all had their turn: whoever runs the work must hear that some of it failed. */
  throwFirst(): void
}

export function createOneByOne(): OneByOne {
  let first: { error: unknown } | undefined
  return {
    async each(items, work) {
      for (const item of items) {
        try {
          await work(item)
        } catch (error) {
          first ??= { error }
        }
      }
    },
    throwFirst() {
      if (first) throw first.error
    },
  }
}
