import { Search, X } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Input } from '../../components/input.tsx'
import { Notice } from '../../components/notice.tsx'

export interface SearchFormProps {
  isBusy: boolean
  isFiltered: boolean
  error: Error | null
  onSearch(text: string): void
  onClear(): void
}

/** Sent when asked to, and not kept in the address: a publisher's own id may be somebody's mail address. */
export function SearchForm({ isBusy, isFiltered, error, onSearch, onClear }: SearchFormProps) {
  const [text, setText] = useState('')
  function clear(): void {
    setText('')
    onClear()
  }
  return (
    <>
      <form
        role="search"
        className="mb-4 flex items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '') onSearch(text.trim())
        }}
      >
        <span className="relative min-w-0 flex-1 sm:max-w-80">
          <Search
            aria-hidden
            className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-faint"
          />
          <Input
            type="search"
            aria-label="Your own id for an end user, or a part of their label"
            placeholder="Your own id, or a label"
            value={text}
            maxLength={512}
            onChange={(event) => setText(event.target.value)}
            className="pl-8 text-sm sm:h-8"
          />
        </span>
        <Button type="submit" size="sm" isBusy={isBusy}>
          Find
        </Button>
        <span className={isFiltered ? undefined : 'invisible'}>
          <IconButton label="Show all end users" icon={<X aria-hidden />} onClick={clear} />
        </span>
      </form>
      {error && (
        <div className="mb-4">
          <Notice tone="bad">{error.message}</Notice>
        </div>
      )}
    </>
  )
}
