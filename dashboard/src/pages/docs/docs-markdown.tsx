/** Draws the repository's own Markdown: with headings that can be linked to, links between pages, and code in colours. */
import { Link as RouterLink } from '@tanstack/react-router'
import { createContext, useContext, type CSSProperties, type ReactNode } from 'react'
import Markdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { ExternalLink } from '../../components/link.tsx'
import { Anchor } from './anchor.tsx'
import { Code } from './code.tsx'
import { anchorOf } from './published.ts'

/** Rows of its tables that begin with a name can be linked to by it, as errors are. */
const RowsAreAnchors = createContext(false)

export function DocsMarkdown({ text, rowsAreAnchors = false }: { text: string; rowsAreAnchors?: boolean }) {
  return (
    <RowsAreAnchors value={rowsAreAnchors}>
      <div className="flex min-w-0 flex-col gap-4 leading-6 [overflow-wrap:anywhere]">
        <Markdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={(url) => url} skipHtml>
          {text}
        </Markdown>
      </div>
    </RowsAreAnchors>
  )
}

const PLUGINS = [remarkGfm]

const COMPONENTS: Components = {
  p: ({ children }) => <p>{children}</p>,
  h2: ({ children, node }) => <Heading level={2} text={textOf(node)} words={children} />,
  h3: ({ children, node }) => <Heading level={3} text={textOf(node)} words={children} />,
  h4: ({ children, node }) => <Heading level={4} text={textOf(node)} words={children} />,
  strong: ({ children }) => <strong className="font-semibold">{children}</strong>,
  ul: ({ children }) => <ul className="flex list-disc flex-col gap-2 pl-5 marker:text-faint">{children}</ul>,
  ol: ({ children, start }) => (
    <ol start={start} className="tabular flex list-decimal flex-col gap-2 pl-6 marker:text-muted">
      {children}
    </ol>
  ),
  li: ({ children }) => <li className="[&>ol]:mt-2 [&>ul]:mt-2">{children}</li>,
  code: ({ children }) => (
    <code className="rounded-sm border border-line bg-sunken px-1 py-px font-mono text-[0.9em]">{children}</code>
  ),
  pre: ({ node }) => <Fenced node={node} />,
  table: ({ children }) => (
    <div
      role="group"
      aria-label="Table"
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line bg-surface"
    >
      <table className="tabular w-full border-collapse text-sm">{children}</table>
    </div>
  ),
  tr: ({ children, node }) => <Row node={node}>{children}</Row>,
  th: ({ children, style }) => <HeaderCell style={style}>{children}</HeaderCell>,
  td: ({ children, style }) => (
    <td
      style={aligned(style)}
      className="last:min-w-48 [&:nth-child(n+3)]:min-w-40 border-b border-line px-3 py-1.5 align-top [overflow-wrap:break-word] [tr:last-child>&]:border-0"
    >
      {children}
    </td>
  ),
  a: ({ href = '', children }) => <PageLink href={href}>{children}</PageLink>,
}

/** A table of two columns may have no names for them. */
function HeaderCell({ children, style }: { children?: ReactNode; style?: CSSProperties | undefined }) {
  const look = 'border-b border-line bg-sunken px-3 py-1.5 text-left font-medium'
  if (children === undefined || children === null)
    return (
      <td style={aligned(style)} className={look}>
        {' '}
      </td>
    )
  return (
    <th scope="col" style={aligned(style)} className={look}>
      {children}
    </th>
  )
}

function aligned(style: CSSProperties | undefined): CSSProperties {
  return style?.textAlign ? { textAlign: style.textAlign } : {}
}

function Heading({ level, text, words }: { level: 2 | 3 | 4; text: string; words: ReactNode }) {
  return (
    <Anchor level={level} id={anchorOf(text)} name={text}>
      {words}
    </Anchor>
  )
}

function Row({ node, children }: { node: unknown; children?: ReactNode }) {
  const name = useContext(RowsAreAnchors) ? /^\w+$/.exec(textOf(firstIn(node)))?.[0] : undefined
  return (
    <tr {...(name !== undefined && { id: name })} className="scroll-mt-20 target:bg-accent-soft">
      {children}
    </tr>
  )
}

interface TreeNode {
  tagName?: string
  value?: string
  properties?: { className?: unknown }
  children?: TreeNode[]
}

function firstIn(node: unknown): unknown {
  return (node as TreeNode).children?.find(({ tagName }) => tagName === 'td')
}

function textOf(node: unknown): string {
  const { value = '', children = [] } = (node ?? {}) as TreeNode
  return value + children.map(textOf).join('')
}

function Fenced({ node }: { node: unknown }) {
  const [code] = (node as TreeNode).children ?? []
  const [language = ''] = [code?.properties?.className ?? []].flat().map(String)
  return <Code code={textOf(code).replace(/\n$/, '')} language={language.replace(/^language-/, '')} />
}

const LOOK = 'rounded-sm font-medium text-accent-text underline underline-offset-4'

function PageLink({ href, children }: { href: string; children?: ReactNode }) {
  const [, name, hash] = /^\/docs\/([\w-]+)\.md(?:#(.*))?$/.exec(href) ?? []
  if (name !== undefined)
    return (
      <RouterLink to={`/docs/${name}`} {...(hash && { hash })} className={LOOK}>
        {children}
      </RouterLink>
    )
  if (href.startsWith('#') || href.startsWith('/'))
    return (
      <a href={href} className={LOOK}>
        {children}
      </a>
    )
  return (
    <ExternalLink href={href} className="underline">
      {children}
    </ExternalLink>
  )
}
