/** The parser and how each of its elements is drawn. Only safe-markdown.tsx loads this, when there is something to draw. */
import type { CSSProperties, ReactNode } from 'react'
import Markdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { hostToShow, linkTarget } from '../safe-text.ts'
import { CodeBlock } from './code-block.tsx'
import { languageOf } from './highlight.ts'
import { NotLoadedImage } from './plain-text.tsx'

export function MarkdownView({ text }: { text: string }) {
  return (
    <div
      dir="auto"
      className="flex min-w-0 flex-col gap-3 leading-6 [font-variant-ligatures:none] [overflow-wrap:anywhere]"
    >
      <Markdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={transformUrl}>
        {text}
      </Markdown>
    </div>
  )
}

const PLUGINS = [remarkGfm]

/** Images are not loaded, so their address may be anything: it is shown as text. */
function transformUrl(url: string, property: string): string | undefined {
  return property === 'src' ? url : linkTarget(url)
}

interface Content {
  children?: ReactNode
}

/** Each takes its content and leaves out everything else that the text might have brought along, such as ids. */
const COMPONENTS: Components = {
  p: ({ children }) => <p>{children}</p>,
  h1: ({ children }) => <Heading className="text-lg">{children}</Heading>,
  h2: ({ children }) => <Heading className="text-lg">{children}</Heading>,
  h3: ({ children }) => <Heading>{children}</Heading>,
  h4: ({ children }) => <Heading>{children}</Heading>,
  h5: ({ children }) => <Heading>{children}</Heading>,
  h6: ({ children }) => <Heading>{children}</Heading>,
  strong: ({ children }) => <strong className="font-semibold">{children}</strong>,
  em: ({ children }) => <em>{children}</em>,
  del: ({ children }) => <del>{children}</del>,
  sup: ({ children }) => <sup className="text-xs text-muted">{children}</sup>,
  section: ({ children }) => <div className="border-t border-line pt-2 text-sm text-muted">{children}</div>,
  ul: ({ children }) => <ul className="flex list-disc flex-col gap-1 pl-5 marker:text-faint">{children}</ul>,
  ol: ({ children, start }) => (
    <ol start={start} className="tabular flex list-decimal flex-col gap-1 pl-6 marker:text-muted">
      {children}
    </ol>
  ),
  li: ({ children }) => <li className="[&>p]:inline [&>ol]:mt-1 [&>ul]:mt-1">{children}</li>,
  blockquote: ({ children }) => (
    <blockquote className="flex flex-col gap-2 border-l-2 border-line-strong pl-3 text-muted">{children}</blockquote>
  ),
  hr: () => <hr className="my-1 border-line" />,
  br: () => <br />,
  code: ({ children }) => (
    <code className="rounded-sm border border-line bg-sunken px-1 py-px font-mono text-[0.9em]">{children}</code>
  ),
  pre: ({ node }) => <Code node={node} />,
  table: ({ children }) => (
    <div role="region" aria-label="Table" tabIndex={0} className="overflow-x-auto rounded-md border border-line">
      <table className="tabular w-full border-collapse text-sm">{children}</table>
    </div>
  ),
  th: ({ children, style }) => (
    <th style={aligned(style)} className="border-b border-line bg-sunken px-3 py-1.5 text-left font-medium">
      {children}
    </th>
  ),
  td: ({ children, style }) => (
    <td style={aligned(style)} className="border-b border-line px-3 py-1.5 align-top [tr:last-child>&]:border-0">
      {children}
    </td>
  ),
  input: ({ checked }) => <span aria-label={checked ? 'done' : 'not done'}>{checked ? '☑' : '☐'} </span>,
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => <NotLoadedImage address={src ?? ''} alt={alt} />,
}

/** A heading to the eye only: the page's own headings are what a screen reader goes by. */
function Heading({ children, className = '' }: Content & { className?: string }) {
  return <p className={`mt-1 font-semibold ${className}`}>{children}</p>
}

function aligned(style: CSSProperties | undefined): CSSProperties {
  return style?.textAlign ? { textAlign: style.textAlign } : {}
}

interface CodeNode {
  children: { type: string; value?: string; properties?: { className?: unknown }; children?: unknown }[]
}

function Code({ node }: { node: unknown }) {
  const [code] = (node as CodeNode).children
  const [content] = (code?.children ?? []) as { value?: string }[]
  const [language = ''] = [code?.properties?.className ?? []].flat().map(String)
  const name = language.replace(/^language-/, '').slice(0, 30)
  return (
    <CodeBlock code={(content?.value ?? '').replace(/\n$/, '')} title={name || 'code'} language={languageOf(name)} />
  )
}

/** The words of a link may say anything, so its host stands beside it unless they begin with it. */
function SafeLink({ href, children }: Content & { href: string | undefined }) {
  if (!href) return <span className="underline decoration-dotted underline-offset-4">{children}</span>
  const host = hostToShow(href, children)
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="rounded-sm text-accent-text underline underline-offset-4"
    >
      {children}
      {host && <span className="text-sm text-muted"> ({host})</span>}
    </a>
  )
}
