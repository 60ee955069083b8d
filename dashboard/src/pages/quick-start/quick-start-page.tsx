import { KeyRound } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'
import type { Reply } from '../../api.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { languageOf } from '../../components/highlight.ts'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Select } from '../../components/select.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useFilters } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { forgetKeys, handedKeysOf, type HandedKeys } from './handed-keys.ts'

type QuickStart = Reply<'GET /api/projects/:project/quick-start'>
type Snippet = QuickStart['snippets'][number]

export function QuickStartPage() {
  const project = useProject()
  const [filters, setFilters] = useFilters(['model', 'language'] as const)
  const query = filters.model ? { model: filters.model } : {}
  const { data, error, refetch } = useApi('GET /api/projects/:project/quick-start', {
    params: { project: project.id },
    query,
  })
  return (
    <>
      <PageHeader
        title="Quick start"
        context={project.name}
        docs="sdks"
        description="Three steps to the first streamed answer. Anything that works with OpenAI works with Parley."
      />
      {error && !data ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton className="h-96 w-full rounded-lg" />
      ) : (
        <ol className="flex flex-col gap-8">
          <Step number={1} title="Set your keys">
            <Keys quickStart={data} />
          </Step>
          <Step
            number={2}
            title="Ask for an answer"
            aside={<ModelSelect quickStart={data} onChange={(model) => setFilters({ model })} />}
          >
            {data.model === null && (
              <div className="mb-4">
                <Notice tone="warn">
                  No models are available to this project yet. Ask the operator of this installation.
                </Notice>
              </div>
            )}
            <Tabs
              label="Languages"
              value={data.snippets.find(({ id }) => id === filters.language)?.id ?? 'curl'}
              onChange={(language) => setFilters({ language })}
              tabs={data.snippets.map((snippet) => ({
                value: snippet.id,
                label: snippet.label,
                content: <Example snippet={snippet} />,
              }))}
            />
          </Step>
          <Step number={3} title="See it arrive">
            <p className="text-muted">
              <Link to={`/projects/${project.id}`}>Home</Link> shows your first request as it comes in, and{' '}
              <Link to={`/projects/${project.id}/calls`}>Calls</Link> every one after it, with its tokens, its cost and
              its request id. No code yet? <Link to={`/projects/${project.id}/playground`}>Use the playground</Link>.
            </p>
            {project.isSandbox && (
              <p className="mt-2 text-muted">
                When it works for you, <Link to="/new-project">create a project with your own domain</Link> and put its
                keys in place of these. Nothing else in your code changes.
              </p>
            )}
          </Step>
        </ol>
      )}
    </>
  )
}

function Step({
  number,
  title,
  aside,
  children,
}: {
  number: number
  title: string
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <li>
      <div className="mb-3 flex min-h-9 flex-wrap items-center gap-3">
        <span className="tabular flex size-6 shrink-0 items-center justify-center rounded-full bg-accent-soft text-sm font-semibold text-accent-text">
          {number}
        </span>
        <h2 className="flex-1 text-base font-semibold">{title}</h2>
        {aside}
      </div>
      <div className="sm:pl-9">{children}</div>
    </li>
  )
}

function ModelSelect({ quickStart, onChange }: { quickStart: QuickStart; onChange(model: string): void }) {
  if (quickStart.model === null) return null
  return (
    <Select
      fit="filter"
      aria-label="Model"
      value={quickStart.model}
      onChange={(event) => onChange(event.target.value)}
      options={quickStart.models.map((id) => ({ value: id, label: id }))}
    />
  )
}

/** The keys themselves stand here only when they were made a moment ago, and leave with the page. */
function Keys({ quickStart }: { quickStart: QuickStart }) {
  const project = useProject()
  const [keys] = useState(() => handedKeysOf(project.id))
  useEffect(() => forgetKeys, [])
  if (keys === undefined)
    return (
      <div className="flex flex-col gap-3">
        <CodeBlock title="Shell" language="sh" code={quickStart.keysText} />
        <Notice
          action={
            <Link to={`/projects/${project.id}/keys`} look="secondary">
              <KeyRound aria-hidden />
              Create a key pair
            </Link>
          }
        >
          Replace these with your own keys. A secret key is shown once, when it is created.
        </Notice>
      </div>
    )
  const masked = { ...keys, secretKey: `${keys.secretKey.slice(0, 7)}${'•'.repeat(24)}` }
  return (
    <div className="flex flex-col gap-3">
      <CodeBlock
        title="Shell, with your new keys"
        language="sh"
        code={keysIn(quickStart, keys)}
        shown={keysIn(quickStart, masked)}
      />
      <p className="text-sm text-muted">
        Copying includes the secret. It is gone when you leave this page. Keep it out of your code and your repository.
      </p>
    </div>
  )
}

function keysIn({ keysText, placeholders }: QuickStart, keys: HandedKeys): string {
  return keysText
    .replace(`'${placeholders.publishableKey}'`, () => `'${keys.publishableKey}'`)
    .replace(`'${placeholders.secretKey}'`, () => `'${keys.secretKey}'`)
}

function Example({ snippet: { install, file, run, text, label } }: { snippet: Snippet }) {
  return (
    <div className="flex flex-col gap-3">
      {install && <CodeBlock title="Once" language="sh" code={install} />}
      <CodeBlock title={file ?? `${label}, in the same shell`} language={languageOf(file ?? 'sh')} code={text} />
      {run && <CodeBlock title="In the same shell" language="sh" code={run} />}
    </div>
  )
}
