/** The keys and their shortcuts. The dialog of shortcuts and docs/console.md list the same ones. */
export type Shortcut = 'palette' | 'search' | 'shortcuts'

export interface Pressed {
  key: string
  /** The key's place on the keyboard: where letters are not Latin ones, K is still there. */
  code: string
  ctrlKey: boolean
  metaKey: boolean
  altKey: boolean
  shiftKey: boolean
}

export interface Around {
  /** While typing, a key means its letter. */
  isTyping: boolean
  /** A dialog or a menu has the keyboard for itself. */
  isCovered: boolean
  /** Keys without Ctrl or Cmd can be switched off: speech input may say them by accident. */
  hasSingleKeys: boolean
}

export function shortcutFor(pressed: Pressed, { isTyping, isCovered, hasSingleKeys }: Around): Shortcut | undefined {
  if (isTyping || isCovered) return undefined
  if (isPaletteKey(pressed)) return 'palette'
  if (!hasSingleKeys || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return undefined
  // Whether Shift is needed for them depends on the keyboard.
  if (pressed.key === '/') return 'search'
  return pressed.key === '?' ? 'shortcuts' : undefined
}

/** Ctrl-K and Cmd-K, both everywhere: keyboards of either kind are plugged into computers of the other. */
export function isPaletteKey({ key, code, ctrlKey, metaKey, altKey, shiftKey }: Pressed): boolean {
  if (ctrlKey === metaKey || altKey || shiftKey) return false
  const isLatin = /^[a-z]$/i.test(key)
  return isLatin ? key.toLowerCase() === 'k' : code === 'KeyK'
}

export interface ListedShortcut {
  keys: string[]
  does: string
}

export function listedShortcuts(isMac: boolean): { title: string; shortcuts: ListedShortcut[] }[] {
  return [
    {
      title: 'Anywhere',
      shortcuts: [
        { keys: [isMac ? '⌘' : 'Ctrl', 'K'], does: 'Open the command palette' },
        { keys: ['/'], does: 'Go to the page’s search or first filter' },
        { keys: ['?'], does: 'Show the keyboard shortcuts' },
        { keys: ['Esc'], does: 'Close what is open' },
      ],
    },
    {
      title: 'Command palette',
      shortcuts: [
        { keys: ['↑', '↓'], does: 'Choose' },
        { keys: ['Enter'], does: 'Open or run the choice' },
      ],
    },
    {
      title: 'Playground',
      shortcuts: [
        { keys: ['Enter'], does: 'Send the message' },
        { keys: ['Shift', 'Enter'], does: 'Start a new line' },
        { keys: ['Esc'], does: 'Stop the answer' },
      ],
    },
  ]
}
