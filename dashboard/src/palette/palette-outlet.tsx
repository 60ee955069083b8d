/** Where the palette and the list of shortcuts appear. Their code comes when they are first asked for. */
import { createElement, useEffect, useState, type ComponentType } from 'react'
import { toast } from '../components/toast.tsx'
import { useShortcuts } from './keyboard.ts'

export type Shown = 'palette' | 'shortcuts' | undefined

interface Views {
  Palette: ComponentType<{ onClose(): void; onShortcuts(): void }>
  KeyboardHelp: ComponentType<{ onClose(): void }>
}

let loading: Promise<Views> | undefined

/** Also from whoever is about to ask for it, so that it is there at the click. */
export function loadPalette(): Promise<Views> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

async function load(): Promise<Views> {
  const [{ Palette }, { KeyboardHelp }] = await Promise.all([import('./palette.tsx'), import('./keyboard-help.tsx')])
  return { Palette, KeyboardHelp }
}

export function PaletteOutlet({ shown, onShow }: { shown: Shown; onShow(shown: Shown): void }) {
  const [views, setViews] = useState<Views>()
  useShortcuts(onShow)
  useEffect(() => {
    if (shown === undefined || views !== undefined) return
    loadPalette().then(setViews, () => {
      onShow(undefined)
      toast('The command palette could not be loaded. Reload the page and try again.', 'bad')
    })
  }, [shown, views, onShow])
  if (views === undefined || shown === undefined) return null
  const onClose = () => onShow(undefined)
  if (shown === 'shortcuts') return createElement(views.KeyboardHelp, { onClose })
  return createElement(views.Palette, { onClose, onShortcuts: () => onShow('shortcuts') })
}
