import { classes } from './classes.ts'
import { CopyButton } from './copy-button.tsx'
import { tokensOf, type TokenKind } from './highlight.ts'
import { Tabs } from './tabs.tsx'

export interface CodeBlockProps {
  code: string
  /** Text to show instead, where the code that is copied holds a secret. */
  shown?: string
  /** Says what it is, for screen readers and as a caption. */
  title: string
  /** Such as `sh` or `json`; in one that is not known nothing is coloured. */
  language?: string
  className?: string
}

/** An example with its colours. What is copied is the text alone. */
export function CodeBlock({ code, shown = code, title, language = '', className }: CodeBlockProps) {
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
        <code>
          <Coloured code={shown} language={language} />
        </code>
      </pre>
    </figure>
  )
}

const LOOKS: Record<TokenKind, string> = {
  plain: '',
  comment: 'text-muted italic',
  string: 'text-good',
  number: 'text-earn',
  keyword: 'text-accent-text font-medium',
  name: 'text-chart-3',
}

/** Beyond this a piece for every word makes a page slow, and nobody reads it for its colours. */
const COLOURED_MAX = 50_000

export function Coloured({ code, language }: { code: string; language: string }) {
  if (code.length > COLOURED_MAX) return code
  return tokensOf(code, language).map(({ kind, text, at }) =>
    kind === 'plain' ? (
      text
    ) : (
      <span key={at} className={LOOKS[kind]}>
        {text}
      </span>
    ),
  )
}

export interface CodeTabsProps {
  label: string
  samples: { value: string; label: string; code: string; title?: string; language?: string }[]
}

export function CodeTabs({ label, samples }: CodeTabsProps) {
  const tabs = samples.map(({ value, label: name, code, title = name, language = '' }) => ({
    value,
    label: name,
    content: <CodeBlock code={code} title={title} language={language} />,
  }))
  return <Tabs label={label} tabs={tabs} />
}
