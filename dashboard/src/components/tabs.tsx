import { Tabs as BaseTabs } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export interface TabsProps {
  tabs: { value: string; label: ReactNode; content: ReactNode }[]
  value?: string
  onChange?(value: string): void
  label: string
  className?: string
}

export function Tabs({ tabs, value, onChange, label, className }: TabsProps) {
  const first = tabs[0]?.value
  return (
    <BaseTabs.Root
      {...(value === undefined ? { defaultValue: first } : { value })}
      onValueChange={(next) => onChange?.(String(next))}
      className={className}
    >
      <BaseTabs.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <BaseTabs.Tab
            key={tab.value}
            value={tab.value}
            className={classes(
              '-mb-px h-9 border-b-2 border-transparent px-2.5 text-sm font-medium whitespace-nowrap text-muted transition-colors hover:text-ink',
              'focus-visible:-outline-offset-2 data-active:border-accent-text data-active:text-ink',
            )}
          >
            {tab.label}
          </BaseTabs.Tab>
        ))}
      </BaseTabs.List>
      {tabs.map((tab) => (
        <BaseTabs.Panel key={tab.value} value={tab.value} className="pt-4 outline-offset-4">
          {tab.content}
        </BaseTabs.Panel>
      ))}
    </BaseTabs.Root>
  )
}
