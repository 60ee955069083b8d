/** Everything that can be reached, by typing a little of its name. A combobox whose list is always open. */
import { Dialog } from '@base-ui/react/dialog'
import { Search, X } from 'lucide-react'
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react'
import { classes } from '../components/classes.ts'
import { IconButton } from '../components/icon-button.tsx'
import { registeredPages } from '../registered-pages.ts'
import { formatCounted } from '../formats.ts'
import { useMe, usePlace } from '../session.ts'
import { commandsFor, found, type Command, type Found } from './commands.ts'
import { isPaletteKey } from './shortcuts.ts'
import { usePerform } from './use-perform.ts'

const TYPED_MAX = 100

export function Palette({ onClose, onShortcuts }: { onClose(): void; onShortcuts(): void }) {
  const input = useRef<HTMLInputElement>(null)
  const perform = usePerform(onShortcuts)
  function choose(command: Command): void {
    onClose()
    perform(command.deed)
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => isOpen || onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop fixed inset-0 z-40" />
        <Dialog.Popup
          initialFocus={input}
          className="floating fixed inset-x-3 top-3 z-50 mx-auto flex max-h-[min(30rem,calc(100dvh-1.5rem))] max-w-xl flex-col overflow-hidden rounded-xl bg-raised shadow-float sm:top-[12vh] sm:max-h-[min(30rem,76vh)]"
        >
          <Dialog.Title className="sr-only">Command palette</Dialog.Title>
          <Chooser input={input} onChoose={choose} onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

interface ChooserProps {
  input: React.RefObject<HTMLInputElement | null>
  onChoose(command: Command): void
  onClose(): void
}

function Chooser({ input, onChoose, onClose }: ChooserProps) {
  const me = useMe()
  const place = usePlace()
  const id = useId()
  const [typed, setTyped] = useState('')
  const [active, setActive] = useState(0)
  const groups = found(commandsFor(me, place, registeredPages), typed)
  const choices = groups.flatMap(({ commands }) => commands.map(({ command }) => command))
  const chosen = choices[active]
  const optionId = (command: Command) => `${id}-${choices.indexOf(command)}`

  function onKey(event: KeyboardEvent): void {
    // While an input method is composing a word, its keys choose letters.
    if (event.nativeEvent.isComposing) return
    const step = STEPS[event.key]
    if (step !== undefined && choices.length > 0) setActive((active + step + choices.length) % choices.length)
    else if (event.key === 'Enter' && chosen) onChoose(chosen)
    else if (isPaletteKey(event.nativeEvent)) onClose()
    else return
    event.preventDefault()
  }
  return (
    <>
      <TypingField
        input={input}
        typed={typed}
        onType={(text) => {
          setTyped(text)
          setActive(0)
        }}
        onKey={onKey}
        listId={choices.length > 0 ? `${id}-list` : undefined}
        chosenId={chosen && optionId(chosen)}
      />
      {choices.length > 0 ? (
        <div id={`${id}-list`} role="listbox" aria-label="Results" className="min-h-0 overflow-y-auto p-2">
          {groups.map((group) => (
            <GroupOfChoices
              key={group.group}
              group={group}
              labelId={`${id}-${group.group}`}
              chosen={chosen}
              optionId={optionId}
              onPoint={(command) => setActive(choices.indexOf(command))}
              onChoose={onChoose}
            />
          ))}
        </div>
      ) : (
        <p className="px-4 py-8 text-center text-muted">Nothing matches “{typed.trim()}”.</p>
      )}
      <p role="status" className="sr-only">
        {typed.trim() === '' ? '' : countOf(choices.length)}
      </p>
    </>
  )
}

interface TypingFieldProps {
  input: React.RefObject<HTMLInputElement | null>
  typed: string
  onType(text: string): void
  onKey(event: KeyboardEvent): void
  /** Undefined when nothing was found. */
  listId: string | undefined
  chosenId: string | undefined
}

function TypingField({ input, typed, onType, onKey, listId, chosenId }: TypingFieldProps) {
  return (
    <div className="flex items-center gap-2.5 border-b border-line px-4">
      <Search className="size-4 shrink-0 text-faint" aria-hidden />
      <input
        ref={input}
        role="combobox"
        aria-label="Search pages, projects and actions"
        aria-autocomplete="list"
        aria-expanded={listId !== undefined}
        aria-controls={listId}
        aria-activedescendant={chosenId}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={TYPED_MAX}
        placeholder="Search pages, projects and actions"
        value={typed}
        onChange={(event) => onType(event.target.value)}
        onKeyDown={onKey}
        className="h-12 min-w-0 flex-1 bg-transparent text-lg outline-none"
      />
      <Dialog.Close render={<IconButton label="Close" icon={<X aria-hidden />} className="-mr-2" />} />
    </div>
  )
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }

function countOf(results: number): string {
  if (results === 0) return 'No results'
  return formatCounted(results, 'result')
}

interface GroupProps {
  group: Found
  labelId: string
  chosen: Command | undefined
  optionId(command: Command): string
  onPoint(command: Command): void
  onChoose(command: Command): void
}

function GroupOfChoices({ group, labelId, chosen, optionId, onPoint, onChoose }: GroupProps) {
  return (
    <div role="group" aria-labelledby={labelId} className="pb-1 last:pb-0">
      <div id={labelId} role="presentation" className="px-2.5 pt-2 pb-1 text-xs font-medium text-muted">
        {group.group}
      </div>
      {group.commands.map(({ command, at }) => (
        <Choice
          key={command.id}
          id={optionId(command)}
          command={command}
          at={at}
          isChosen={command === chosen}
          onPoint={() => onPoint(command)}
          onChoose={() => onChoose(command)}
        />
      ))}
    </div>
  )
}

interface ChoiceProps {
  id: string
  command: Command
  at: number[]
  isChosen: boolean
  onPoint(): void
  onChoose(): void
}

/** The field keeps the focus: a choice is pointed at, and its key is Enter. */
function Choice({ id, command, at, isChosen, onPoint, onChoose }: ChoiceProps) {
  const element = useRef<HTMLButtonElement>(null)
  const { icon: Icon, label, hint } = command
  useEffect(() => {
    if (isChosen) element.current?.scrollIntoView({ block: 'nearest' })
  }, [isChosen])
  return (
    <button
      ref={element}
      type="button"
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      onPointerMove={isChosen ? undefined : onPoint}
      onPointerDown={(event) => event.preventDefault()}
      onClick={onChoose}
      className={classes(
        'flex min-h-10 w-full scroll-my-2 text-left items-center gap-2.5 rounded-md px-2.5 py-1.5 select-none sm:min-h-9 [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted',
        isChosen && 'bg-accent-soft text-accent-text [&_svg]:text-accent-text',
      )}
    >
      <Icon aria-hidden />
      <span className="min-w-0 truncate">
        <Marked text={label} at={at} />
      </span>
      {hint && <span className="ml-auto min-w-0 truncate pl-4 text-sm text-muted">{hint}</span>}
    </button>
  )
}

/** The letters that were typed stand out. */
function Marked({ text, at }: { text: string; at: number[] }) {
  const marked = new Set(at)
  const pieces: { from: number; text: string; isMarked: boolean }[] = []
  for (const [n, letter] of text.split('').entries()) {
    const last = pieces.at(-1)
    if (last && last.isMarked === marked.has(n)) last.text += letter
    else pieces.push({ from: n, text: letter, isMarked: marked.has(n) })
  }
  return pieces.map((piece) =>
    piece.isMarked ? (
      <strong key={piece.from} className="font-semibold underline decoration-1 underline-offset-4">
        {piece.text}
      </strong>
    ) : (
      piece.text
    ),
  )
}
