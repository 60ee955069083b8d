import { Search } from 'lucide-react'
import { IconButton } from '../components/icon-button.tsx'
import { Keys } from './keys.tsx'
import { loadPalette } from './palette-outlet.tsx'
import { isMac } from './platform.ts'

export interface SearchButtonProps {
  onOpen(): void
  isSmall?: boolean
}

export function SearchButton({ onOpen, isSmall = false }: SearchButtonProps) {
  const behaviour = {
    'aria-haspopup': 'dialog',
    'aria-keyshortcuts': 'Control+K Meta+K',
    onPointerEnter: prepare,
    onFocus: prepare,
    onClick: onOpen,
  } as const
  if (isSmall) {
    return <IconButton label="Search the console" icon={<Search aria-hidden />} className="size-10" {...behaviour} />
  }
  return (
    <button
      type="button"
      {...behaviour}
      className="flex h-8 w-full items-center gap-2.5 rounded-md border border-line-strong bg-surface px-2.5 text-left text-muted shadow-button transition-colors hover:border-faint hover:text-ink [&_svg]:size-4 [&_svg]:shrink-0"
    >
      <Search aria-hidden />
      <span className="flex-1">
        Search<span className="sr-only"> the console</span>
      </span>
      <span aria-hidden>
        <Keys of={[isMac() ? '⌘' : 'Ctrl', 'K']} />
      </span>
    </button>
  )
}

/** People who point at the button are likely to press it. If the palette cannot be loaded, they are told when they do. */
function prepare(): void {
  loadPalette().catch(() => {})
}
