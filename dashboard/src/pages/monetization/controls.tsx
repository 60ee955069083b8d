import { AdvertisersCard } from './advertisers-card.tsx'
import { ControlsCard } from './controls-card.tsx'
import { LibraryCard } from './library-card.tsx'
import type { Monetization } from './monetization.ts'
import type { ControlsForm } from './use-controls.ts'

export function Controls({ form, settings }: { form: ControlsForm; settings: Monetization }) {
  return (
    <div className="flex max-w-3xl flex-col gap-6">
      <ControlsCard controls={form} settings={settings} />
      <AdvertisersCard blocked={settings.blockedAdvertisers} />
      <LibraryCard library={settings.library} />
    </div>
  )
}
