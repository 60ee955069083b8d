import { useState } from 'react'
import { spanOf, type RangeFilters, type Span } from './ranges.ts'

/** The range as it was when the page was opened: one that moved with the clock would be a new question every time. */
export function useSpan(filters: RangeFilters): Span {
  const [openedMs] = useState(() => Date.now())
  return spanOf(filters, openedMs)
}
