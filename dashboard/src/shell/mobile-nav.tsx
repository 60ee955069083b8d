import { Dialog } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { IconButton } from '../components/icon-button.tsx'
import { Nav } from './nav.tsx'
import { ProjectSwitcher } from './project-switcher.tsx'

/** The navigation of small screens: a drawer that traps the focus and gives it back. */
export function MobileNav({ trigger }: { trigger: ReactElement }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger render={trigger} />
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop fixed inset-0 z-40" />
        <Dialog.Popup className="fixed inset-y-0 left-0 z-50 flex w-72 max-w-[85vw] flex-col bg-surface shadow-float transition-transform duration-150 data-ending-style:-translate-x-full data-starting-style:-translate-x-full">
          <Dialog.Title className="sr-only">Navigation</Dialog.Title>
          <div className="flex items-center gap-1 p-3">
            <div className="min-w-0 flex-1">
              <ProjectSwitcher onChoose={() => setOpen(false)} />
            </div>
            <Dialog.Close render={<IconButton label="Close the navigation" icon={<X aria-hidden />} />} />
          </div>
          <Nav className="flex-1 overflow-y-auto px-3 pb-4" onNavigate={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
