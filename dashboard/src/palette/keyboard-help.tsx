import { DialogFrame } from '../components/dialog-frame.tsx'
import { Switch } from '../components/toggles.tsx'
import { useSingleKeys } from './keyboard.ts'
import { Keys } from './keys.tsx'
import { isMac } from './platform.ts'
import { listedShortcuts } from './shortcuts.ts'

export function KeyboardHelp({ onClose }: { onClose(): void }) {
  const [hasSingleKeys, chooseSingleKeys] = useSingleKeys()
  return (
    <DialogFrame
      isOpen
      onClose={onClose}
      title="Keyboard shortcuts"
      description="They do nothing while you type in a field."
    >
      <div className="flex flex-col gap-5">
        {listedShortcuts(isMac()).map(({ title, shortcuts }) => (
          <section key={title}>
            <h3 className="mb-1 text-sm font-medium text-muted">{title}</h3>
            <dl className="flex flex-col">
              {shortcuts.map(({ keys, does }) => (
                <div
                  key={does}
                  className="flex items-center justify-between gap-4 border-b border-line py-1.5 last:border-0"
                >
                  <dt className="order-2 shrink-0">
                    <Keys of={keys} />
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <div className="border-t border-line pt-4">
          <Switch
            label="Single-key shortcuts"
            hint="/ and ? on this device. Switch them off if you use speech input."
            checked={hasSingleKeys}
            onChange={chooseSingleKeys}
          />
        </div>
      </div>
    </DialogFrame>
  )
}
