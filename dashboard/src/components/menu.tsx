import { Menu as BaseMenu } from '@base-ui/react/menu'
import { Check } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { classes } from './classes.ts'

export interface MenuProps {
  /** The button that opens it. It must pass its properties on to a `<button>`. */
  trigger: ReactElement
  children: ReactNode
  align?: 'start' | 'center' | 'end'
  side?: 'top' | 'bottom' | 'right'
  className?: string
}

export function Menu({ trigger, children, align = 'end', side = 'bottom', className }: MenuProps) {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner align={align} side={side} sideOffset={6} className="z-50 outline-none">
          <BaseMenu.Popup
            className={classes(
              'floating max-h-[min(26rem,var(--available-height))] min-w-48 overflow-y-auto rounded-lg bg-raised p-1 shadow-float outline-none',
              className,
            )}
          >
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}

export interface MenuItemProps {
  children: ReactNode
  icon?: ReactNode
  onSelect(): void
  tone?: 'neutral' | 'bad'
  isChecked?: boolean
  disabled?: boolean
}

export function MenuItem({ children, icon, onSelect, tone = 'neutral', isChecked, disabled }: MenuItemProps) {
  return (
    <BaseMenu.Item
      onClick={onSelect}
      disabled={disabled}
      className={classes(
        'flex min-h-8 items-center gap-2.5 rounded-md px-2.5 py-1.5 outline-none select-none data-disabled:opacity-50',
        'data-highlighted:bg-hover [&_svg]:size-4 [&_svg]:shrink-0',
        tone === 'bad' ? 'text-bad' : 'text-ink [&_svg]:text-muted',
      )}
    >
      {icon}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {isChecked && <Check aria-label="chosen" />}
    </BaseMenu.Item>
  )
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <div className="truncate px-2.5 pt-2 pb-1 text-xs font-medium text-muted">{children}</div>
}

export function MenuDivider() {
  return <BaseMenu.Separator className="mx-1 my-1 h-px bg-line" />
}
