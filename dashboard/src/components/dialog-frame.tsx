import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import { IconButton } from './icon-button.tsx'

export interface DialogFrameProps {
  isOpen: boolean
  onClose(): void
  title: string
  description?: ReactNode
  children?: ReactNode
  /** Buttons, the main one last. */
  actions?: ReactNode
  size?: 'md' | 'lg'
  /** For what must not be lost by a stray click, such as a secret that is shown once. */
  isSticky?: boolean
  /** Over another dialog, which is dimmed like the page. */
  isOnTop?: boolean
}

const WIDTHS = { md: 'max-w-md', lg: 'max-w-2xl' }

export function DialogFrame({
  isOpen,
  onClose,
  title,
  description,
  children,
  actions,
  size = 'md',
  isSticky,
  isOnTop = false,
}: DialogFrameProps) {
  return (
    <BaseDialog.Root
      open={isOpen}
      onOpenChange={(open) => open || onClose()}
      {...(isSticky && { disablePointerDismissal: true })}
    >
      <BaseDialog.Portal>
        <BaseDialog.Backdrop
          forceRender={isOnTop}
          className={classes('backdrop fixed inset-0', isOnTop ? 'z-50' : 'z-40')}
        />
        <BaseDialog.Popup
          className={classes(
            'floating fixed inset-x-3 bottom-3 mx-auto flex max-h-[calc(100dvh-1.5rem)] flex-col rounded-xl bg-raised shadow-float',
            'sm:top-[12vh] sm:bottom-auto sm:max-h-[76vh]',
            isOnTop ? 'z-60' : 'z-50',
            WIDTHS[size],
          )}
        >
          <header className="pt-5 pr-14 pl-5">
            <div className="min-w-0">
              <BaseDialog.Title className="text-lg font-semibold">{title}</BaseDialog.Title>
              {description && (
                <BaseDialog.Description render={<div />} className="mt-1 text-muted">
                  {description}
                </BaseDialog.Description>
              )}
            </div>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
          {actions && (
            <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3.5">{actions}</footer>
          )}
          {/* Last, so that the first field has the focus when the dialog opens. */}
          <BaseDialog.Close
            render={<IconButton label="Close" icon={<X aria-hidden />} className="absolute top-4 right-3" />}
          />
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}
