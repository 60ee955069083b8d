/** Listens to the keyboard for the whole page, and finds the field that `/` leads to. */
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { shortcutFor, type Shortcut } from './shortcuts.ts'

const SINGLE_KEYS_OFF = 'parley.single-keys-off'
const listeners = new Set<() => void>()

/** Whether `/` and `?` do something, and how that is changed. It is this browser's own setting. */
export function useSingleKeys(): [boolean, (isOn: boolean) => void] {
  return [useSyncExternalStore(subscribe, hasSingleKeys), chooseSingleKeys]
}

function hasSingleKeys(): boolean {
  return localStorage.getItem(SINGLE_KEYS_OFF) === null
}

function chooseSingleKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(SINGLE_KEYS_OFF)
  else localStorage.setItem(SINGLE_KEYS_OFF, 'yes')
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useShortcuts(onOpen: (what: 'palette' | 'shortcuts') => void): void {
  const handle = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing || event.repeat) return
    const shortcut = shortcutFor(event, {
      isTyping: event.target instanceof Element && isField(event.target),
      isCovered: document.querySelector(COVERS) !== null,
      hasSingleKeys: hasSingleKeys(),
    })
    if (shortcut !== undefined && perform(shortcut, onOpen)) event.preventDefault()
  })
  useEffect(() => {
    window.addEventListener('keydown', handle)
    return () => window.removeEventListener('keydown', handle)
  }, [])
}

/** Whether anything was done: a page without a search leaves the key to the browser. */
function perform(shortcut: Shortcut, onOpen: (what: 'palette' | 'shortcuts') => void): boolean {
  if (shortcut !== 'search') {
    onOpen(shortcut)
    return true
  }
  const field = searchField()
  field?.focus()
  if (field instanceof HTMLInputElement) field.select()
  return field !== undefined
}

const COVERS = '[role="dialog"], [role="alertdialog"], [role="menu"]'
const FIELDS =
  'input:not([type="checkbox"], [type="radio"], [type="range"]), textarea, select, [contenteditable]:not([contenteditable="false"])'

function isField(element: Element): boolean {
  return element.closest(FIELDS) !== null
}

/** The page's own search before its first filter. */
function searchField(): HTMLElement | undefined {
  const candidates = ['#main input[type="search"]', '#main [role="search"] :is(input, select)']
  return candidates
    .flatMap((selector) => Array.from(document.querySelectorAll<HTMLInputElement>(selector)))
    .find((element) => !element.disabled && element.checkVisibility())
}
