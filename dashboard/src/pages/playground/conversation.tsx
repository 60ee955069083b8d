import { useEffect, useRef } from 'react'
import { Invitation } from './invitation.tsx'
import { RowView } from './turn-view.tsx'
import type { Row } from './use-comparison.ts'

export interface ConversationProps {
  rows: Row[]
  isComparing: boolean
  onSuggest(text: string): void
}

/** Scrolls along while the reader is at its end, and leaves alone who has scrolled up to read. */
export function Conversation({ rows, isComparing, onSuggest }: ConversationProps) {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    if (rows.length > 0 && isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [rows])
  function see(): void {
    const { current } = box
    if (current) isAtEnd.current = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_PX
  }
  return (
    <div
      ref={box}
      onScroll={see}
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label="Messages"
      className="min-h-0 flex-1 overflow-y-auto px-4 focus-visible:-outline-offset-2"
    >
      {rows.length === 0 ? (
        <Invitation isComparing={isComparing} onSuggest={onSuggest} />
      ) : (
        <ol className={isComparing ? 'flex flex-col gap-6 py-5' : 'mx-auto flex max-w-3xl flex-col gap-6 py-5'}>
          {rows.map((row, n) => (
            <RowView key={row.turns[0].id} row={row} number={n + 1} />
          ))}
        </ol>
      )}
    </div>
  )
}

const NEAR_PX = 48
