import type { ReactNode } from 'react'

/** Facts about one thing, one below the other: a label on the left, its value on the right. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-6 gap-y-2 text-sm">{children}</dl>
}

export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{label}</dt>
      <dd className="max-w-full min-w-0 justify-self-start">{children}</dd>
    </>
  )
}
