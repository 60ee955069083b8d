import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { DocumentTitle } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { NotFoundPage } from '../../shell/not-found-page.tsx'
import { Anchor } from './anchor.tsx'
import type { DocsMarkdown } from './docs-markdown.tsx'
import { guideNamed, type Guide } from './guides.ts'
import { hasWords, PageSearch } from './page-search.tsx'
import { sectionsOf, type Section } from './published.ts'
import { useGuideText, useMarkdown, useOpenApi, useScrollToHash } from './use-text.ts'

export function GuidePage() {
  const { guide: name } = useParams({ strict: false }) as { guide: string }
  const guide = guideNamed(name)
  return guide ? <GuideView key={name} guide={guide} /> : <NotFoundPage />
}

function GuideView({ guide }: { guide: Guide }) {
  const text = useGuideText(guide.name)
  const openApi = useOpenApi()
  const markdown = useMarkdown()
  const isReady = text.data !== undefined && markdown.data !== undefined && !openApi.isPending
  useScrollToHash(isReady)
  return (
    <article>
      <DocumentTitle title={guide.title} context="Docs" />
      <header className="mb-4 flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h1 className="text-2xl font-semibold tracking-tight">{guide.title}</h1>
        <a href={`/docs/${guide.name}.md`} className="rounded-sm text-sm text-muted underline underline-offset-4">
          Markdown
        </a>
      </header>
      {text.error || markdown.error ? (
        <ErrorState
          error={text.error ?? markdown.error}
          onRetry={() => void Promise.all([text.refetch(), markdown.refetch()])}
        />
      ) : isReady ? (
        <Sections
          guide={guide}
          sections={sectionsOf(hereIn(text.data, openApi.data?.servers[0]?.url))}
          Markdown={markdown.data.DocsMarkdown}
        />
      ) : (
        <SkeletonLines count={12} />
      )}
    </article>
  )
}

/** Examples of the repository ask a gateway on the reader's machine; here they ask this installation's. */
function hereIn(text: string, gatewayUrl = 'http://127.0.0.1:8080'): string {
  return text.replaceAll('http://127.0.0.1:8080', gatewayUrl)
}

interface SectionsProps {
  guide: Guide
  sections: Section[]
  Markdown: typeof DocsMarkdown
}

function Sections({ guide, sections, Markdown }: SectionsProps) {
  const [sought, setSought] = useState('')
  const found = sections.filter(({ title, text }) => hasWords(`${title}\n${text}`, sought.trim()))
  const titled = sections.filter(({ title }) => title !== '')
  return (
    <div className="xl:grid xl:grid-cols-[minmax(0,1fr)_13rem] xl:gap-10">
      <div className="min-w-0 max-w-3xl">
        <PageSearch value={sought} onChange={setSought} found={found.length} all={sections.length} />
        {found.length === 0 && <p className="text-muted">Nothing on this page matches “{sought.trim()}”.</p>}
        <div className="flex flex-col gap-6">
          {found.map(({ title, anchor, text }) => (
            <section key={anchor} className="flex flex-col gap-4">
              {title !== '' && (
                <Anchor level={2} id={anchor} name={title}>
                  {title}
                </Anchor>
              )}
              <Markdown text={text} rowsAreAnchors={guide.name === 'errors'} />
            </section>
          ))}
        </div>
      </div>
      {titled.length > 1 && (
        <nav
          aria-label="On this page"
          className="sticky top-20 hidden max-h-[80dvh] self-start overflow-y-auto xl:block"
        >
          <h2 className="mb-2 text-xs font-medium text-faint">On this page</h2>
          <ul className="flex flex-col gap-1.5 border-l border-line">
            {titled.map(({ title, anchor }) => (
              <li key={anchor}>
                <a
                  href={`#${anchor}`}
                  className="-ml-px block border-l border-transparent pl-3 text-sm text-muted hover:border-accent-text hover:text-ink"
                >
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </div>
  )
}
