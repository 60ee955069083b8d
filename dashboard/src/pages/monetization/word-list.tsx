import { X } from 'lucide-react'
import { useId, useState } from 'react'
import { classes } from '../../components/classes.ts'
import type { FieldControl } from '../../components/field.tsx'
import { CONTROL } from '../../components/input.tsx'
import { withWords } from './words.ts'

export interface WordListProps {
  control: FieldControl
  /** The name for one of them, such as "category". */
  noun: string
  words: string[]
  onChange(words: string[]): void
  suggestions: string[]
  placeholder: string
}

/** Words that are typed one after the other: Enter or a comma takes one, and each can be taken out again. */
export function WordList({ control, noun, words, onChange, suggestions, placeholder }: WordListProps) {
  const [text, setText] = useState('')
  const listId = useId()
  function take(typed: string): void {
    const all = withWords(words, typed)
    if (all.length > words.length) onChange(all)
    setText('')
  }
  return (
    <div className={classes(CONTROL, 'flex min-h-9 flex-wrap items-center gap-1.5 p-1.5')}>
      {words.length > 0 && (
        <ul aria-label={`Chosen: ${noun}`} className="contents">
          {words.map((word) => (
            <li key={word} className="flex max-w-full items-center gap-0.5 rounded-sm bg-hover pl-2 text-sm">
              <span className="truncate py-0.5">{word}</span>
              <button
                type="button"
                aria-label={`Remove ${word}`}
                onClick={() => onChange(words.filter((each) => each !== word))}
                className="flex size-6 shrink-0 items-center justify-center rounded-sm text-muted enabled:hover:text-ink [&_svg]:size-3.5"
              >
                <X aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        {...control}
        value={text}
        list={suggestions.length > 0 ? listId : undefined}
        placeholder={words.length === 0 ? placeholder : ''}
        autoComplete="off"
        onChange={(event) =>
          event.target.value.includes(',') ? take(event.target.value) : setText(event.target.value)
        }
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          // In a form, Enter would save it.
          event.preventDefault()
          take(text)
        }}
        onBlur={() => take(text)}
        className="h-6 min-w-32 flex-1 bg-transparent px-1 text-base outline-none disabled:cursor-not-allowed"
      />
      {suggestions.length > 0 && (
        <datalist id={listId}>
          {suggestions.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </datalist>
      )}
    </div>
  )
}
