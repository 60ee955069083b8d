/** public/theme.js applies the stored choice before the first paint; this changes it afterwards. */
import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark' | 'system'

const STORED_AS = 'parley.theme'
const listeners = new Set<() => void>()

export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, storedTheme), chooseTheme]
}

/** Keeps the page in step with the system while the choice is `system`. */
export function followSystemTheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply)
}

function chooseTheme(theme: Theme): void {
  localStorage.setItem(STORED_AS, theme)
  apply()
}

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED_AS)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

function apply(): void {
  const theme = storedTheme()
  const isDark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
