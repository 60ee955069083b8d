import { classes } from './classes.ts'
import { CopyButton } from './copy-button.tsx'
import { Tabs } from './tabs.tsx'

export interface CodeBlockProps {
  code: string
  /** What stands there instead, where the code that is copied holds a secret. */
  shown?: string
  /** Says what it is, for screen readers and as a caption. */
  title: string
  className?: string
}

export function CodeBlock({ code, shown = code, title, className }: CodeBlockProps) {
  return (
    <figure className={classes('overflow-hidden rounded-lg border border-line bg-sunken', className)}>
      <figcaption className="flex items-center justify-between border-b border-line py-1 pr-1.5 pl-3 text-xs text-muted">
        {title}
        <CopyButton text={code} label={`Copy ${title}`} />
      </figcaption>
      <pre
        tabIndex={0}
        aria-label={title}
        className="max-h-[32rem] overflow-auto p-3 font-mono text-sm focus-visible:-outline-offset-2"
      >
        <code>{shown}</code>
      </pre>
    </figure>
  )
}

export interface CodeTabsProps {
  label: string
  samples: { value: string; label: string; code: string; title?: string }[]
  value?: string
  onChange?(value: string): void
}

export function CodeTabs({ label, samples, value, onChange }: CodeTabsProps) {
  const tabs = samples.map((sample) => ({
    value: sample.value,
    label: sample.label,
    content: <CodeBlock code={sample.code} title={sample.title ?? sample.label} />,
  }))
  return <Tabs label={label} tabs={tabs} {...(value !== undefined && { value })} {...(onChange && { onChange })} />
}
