import { Check, ChevronsUpDown } from 'lucide-react'
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react'
import { Badge } from '../../components/badge.tsx'
import { classes } from '../../components/classes.ts'
import type { FieldControl } from '../../components/field.tsx'
import { CONTROL } from '../../components/input.tsx'
import { formatCount } from '../../formats.ts'
import { UnitPrice } from '../costs/unit-price.tsx'
import { ABILITIES, foundModels, type Model } from './found-models.ts'
import { movedTo } from './picking.ts'

export interface ModelPickerProps extends FieldControl {
  value: string
  models: readonly Model[]
  onChange(model: string): void
  /** The side with which the list is aligned, where it is wider than the field. */
  align?: 'start' | 'end'
}

/**
 * Chooses a model: typing searches ids, makers and abilities, arrow keys move, Enter chooses, Escape leaves all as it was. The
 * focus stays in the field; the option that Enter would choose is told by `aria-activedescendant`.
 */
export function ModelPicker({ value, models, onChange, align = 'start', ...control }: ModelPickerProps) {
  const [search, setSearch] = useState<string>()
  const [active, setActive] = useState('')
  const list = useId()
  const isOpen = search !== undefined
  const found = isOpen ? foundModels(models, search, 'name') : []
  const current = found.find(({ id }) => id === active) ?? found[0]
  const optionId = (model: Model) => `${list}-${models.indexOf(model)}`

  function open(): void {
    setSearch('')
    setActive(value)
  }
  function choose(model: Model | undefined): void {
    setSearch(undefined)
    if (model && model.id !== value) onChange(model.id)
  }
  function onKey(event: KeyboardEvent): void {
    if (event.nativeEvent.isComposing) return
    // Typing begins a search, and does not add to the name in the field.
    if (!isOpen && event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) return open()
    const next = movedTo(event.key, found, current)
    if (!isOpen && (event.key === 'ArrowDown' || event.key === 'ArrowUp' || event.key === 'Enter')) open()
    else if (isOpen && event.key === 'Enter') choose(current)
    else if (isOpen && event.key === 'Escape') setSearch(undefined)
    else if (isOpen && next) setActive(next.id)
    else return
    event.preventDefault()
    // Escape stops an answer that runs, and Enter sends: neither is meant while the list is open.
    event.stopPropagation()
  }
  return (
    <div className="relative">
      <input
        {...control}
        type="text"
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        aria-expanded={isOpen}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={current && optionId(current)}
        value={search ?? value}
        placeholder={isOpen ? value || 'Search models' : 'Choose a model'}
        onChange={(event) => {
          setSearch(event.target.value)
          setActive('')
        }}
        onClick={() => !isOpen && open()}
        onKeyDown={onKey}
        onBlur={() => setSearch(undefined)}
        className={classes(CONTROL, 'h-9 truncate pr-8 pl-2.5 font-mono text-sm')}
      />
      <ChevronsUpDown aria-hidden className="pointer-events-none absolute top-2.75 right-2.5 size-3.5 text-muted" />
      <List
        id={list}
        models={isOpen ? found : undefined}
        idOf={optionId}
        current={current}
        value={value}
        align={align}
        onPoint={(model) => setActive(model.id)}
        onChoose={choose}
      />
    </div>
  )
}

interface ListProps {
  id: string
  /** Undefined: it is not open. */
  models: Model[] | undefined
  idOf(model: Model): string
  current: Model | undefined
  value: string
  align: 'start' | 'end'
  onPoint(model: Model): void
  onChoose(model: Model): void
}

function List({ id, models, idOf, current, value, align, onPoint, onChoose }: ListProps) {
  return (
    <div
      // Pressing in the list, or on its scroll bar, leaves the focus where it is.
      role="presentation"
      onMouseDown={(event) => event.preventDefault()}
      hidden={models === undefined}
      className={classes(
        'floating absolute top-full z-50 mt-1.5 w-full rounded-lg bg-raised shadow-float sm:w-104',
        align === 'end' ? 'right-0' : 'left-0',
      )}
    >
      <div id={id} role="listbox" aria-label="Choices" className="max-h-76 overflow-y-auto overscroll-contain p-1">
        {models?.map((model) => (
          <Option
            key={model.id}
            id={idOf(model)}
            model={model}
            isActive={model === current}
            isChosen={model.id === value}
            onPoint={() => onPoint(model)}
            onChoose={() => onChoose(model)}
          />
        ))}
      </div>
      <p role="status" className="border-t border-line px-3.5 py-2 text-xs text-muted">
        {models &&
          (models.length === 0 ? 'No model matches this search.' : 'Prices are per million tokens, in and out.')}
      </p>
    </div>
  )
}

interface OptionProps {
  id: string
  model: Model
  isActive: boolean
  isChosen: boolean
  onPoint(): void
  onChoose(): void
}

function Option({ id, model, isActive, isChosen, onPoint, onChoose }: OptionProps) {
  const row = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (isActive) row.current?.scrollIntoView({ block: 'nearest' })
  }, [isActive])
  return (
    <button
      ref={row}
      type="button"
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      onPointerMove={() => !isActive && onPoint()}
      onClick={onChoose}
      className={classes('block w-full cursor-default rounded-md px-2.5 py-2 text-left', isActive && 'bg-accent-soft')}
    >
      <span className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate font-mono text-sm font-medium">{model.id}</span>
        {isChosen && <Check className="size-4 shrink-0 text-accent-text" aria-hidden />}
        <span className="shrink-0 text-sm">
          <UnitPrice nanos={model.price.input} />
          <span className="sr-only"> for input,</span>
          <span aria-hidden className="text-muted">
            {' '}
            /{' '}
          </span>
          <UnitPrice nanos={model.price.output} />
          <span className="sr-only"> for output,</span>
        </span>
      </span>
      <span className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-muted">
        <span>by {model.ownedBy}</span>
        {model.contextWindow !== null && <span>· {formatCount(model.contextWindow)} tokens of context</span>}
        {model.abilities.map((ability) => (
          <Badge key={ability}>{ABILITIES[ability]}</Badge>
        ))}
      </span>
    </button>
  )
}
