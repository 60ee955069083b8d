import type { Page } from './page.ts'

const modules = import.meta.glob<{ page?: Page; pages?: Page[] }>('./pages/*/page.ts', { eager: true })

/** Everything that pages/<noun>/page.ts files describe, in the order of the navigation. */
export const registeredPages: Page[] = Object.values(modules)
  .flatMap(({ page, pages = [] }) => [page ?? [], pages].flat())
  .toSorted((a, b) => (a.nav?.order ?? 0) - (b.nav?.order ?? 0))
