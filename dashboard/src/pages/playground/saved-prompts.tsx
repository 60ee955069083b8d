import { Bookmark } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { problemIn, promptOf, type SavedPrompt, type Settings } from './chat.ts'
import type { OpenPrompt } from './saved-prompts-dialog.tsx'
import { Tool } from './toolbar.tsx'
import type { Comparison } from './use-comparison.ts'

/** Loaded when it is opened: the first message is not kept waiting for it. */
const SavedPromptsDialog = lazy(async () => ({
  default: (await import('./saved-prompts-dialog.tsx')).SavedPromptsDialog,
}))

export interface SavedPromptsProps {
  settings: Settings
  chat: Comparison
  draft: string
  onOpen(prompt: SavedPrompt): void
}

/** The button, and the dialog behind it. */
export function SavedPrompts({ settings, chat, draft, onOpen }: SavedPromptsProps) {
  const [isListing, setListing] = useState(false)
  const [opened, setOpened] = useState<OpenPrompt>()
  function open(prompt: SavedPrompt): void {
    setOpened({ id: prompt.id, name: prompt.name })
    onOpen(prompt)
  }
  const turns = chat.rows.map((row) => row.turns[0])
  return (
    <>
      <Tool icon={<Bookmark aria-hidden />} label="Prompts" onClick={() => setListing(true)} />
      {isListing && (
        <Suspense>
          <SavedPromptsDialog
            asked={promptOf(settings, turns, draft)}
            mayBeSaved={problemIn(settings) === undefined && settings.model !== ''}
            opened={opened}
            onOpened={setOpened}
            onOpen={open}
            onClose={() => setListing(false)}
          />
        </Suspense>
      )}
    </>
  )
}
