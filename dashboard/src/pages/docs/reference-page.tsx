import { Link as RouterLink } from '@tanstack/react-router'
import { useState } from 'react'
import { Badge } from '../../components/badge.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Anchor } from './anchor.tsx'
import { Code } from './code.tsx'
import { curlOf, endpointsOf, nameOf, resolved, type Endpoint, type OpenApi, type Parameter } from './openapi.ts'
import { hasWords, PageSearch } from './page-search.tsx'
import { FieldList } from './schema-view.tsx'
import { useOpenApi, useScrollToHash } from './use-text.ts'

export function ReferencePage() {
  const { data, error, refetch } = useOpenApi()
  useScrollToHash(data !== undefined)
  return (
    <>
      <PageHeader
        title="API reference"
        context="Docs"
        description="Every endpoint of the gateway with its fields, headers, answers and errors, generated from the code that checks requests."
      />
      {error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Endpoints document={data} />
      ) : (
        <SkeletonLines count={12} />
      )}
    </>
  )
}

function Endpoints({ document }: { document: OpenApi }) {
  const [sought, setSought] = useState('')
  const all = endpointsOf(document)
  const found = all.filter((endpoint) => hasWords(wordsOf(document, endpoint), sought.trim()))
  return (
    <div className="max-w-4xl">
      <p className="mb-4 text-muted">
        Base address: <code className="font-mono text-ink">{document.servers[0]?.url}</code>. Every request carries{' '}
        <code className="font-mono text-ink">x-publishable-key</code> and{' '}
        <code className="font-mono text-ink">x-secret-key</code>. The same as a file:{' '}
        <a href="/openapi.json" className="rounded-sm font-medium text-accent-text underline underline-offset-4">
          OpenAPI 3.1
        </a>
        .
      </p>
      <PageSearch value={sought} onChange={setSought} found={found.length} all={all.length} />
      {found.length === 0 && <p className="text-muted">No endpoint matches “{sought.trim()}”.</p>}
      <div className="flex flex-col gap-12">
        {found.map((endpoint) => (
          <EndpointView key={endpoint.operationId} document={document} endpoint={endpoint} />
        ))}
      </div>
    </div>
  )
}

function wordsOf(document: OpenApi, { method, path, summary, description, requestBody, responses }: Endpoint): string {
  const schema = requestBody?.content['application/json']?.schema
  const answer = responses['200']?.content['application/json']?.schema
  const fields = [schema, answer].map((each) => (each ? JSON.stringify(resolved(document, each)) : ''))
  const codes = Object.values(responses).map((each) => each.description)
  return [`${method} ${path}`, summary, description, ...fields, ...codes].join('\n')
}

function EndpointView({ document, endpoint }: { document: OpenApi; endpoint: Endpoint }) {
  const { method, path, summary, description, operationId, requestBody, responses } = endpoint
  const request = requestBody?.content['application/json']
  const answer = responses['200']?.content ?? {}
  return (
    <section className="flex flex-col gap-4">
      <Anchor level={2} id={operationId} name={`${method} ${path}`}>
        <Badge tone={method === 'GET' ? 'good' : 'earn'}>{method}</Badge>{' '}
        <code className="font-mono text-base font-medium">{path}</code>
      </Anchor>
      <p>
        <strong className="font-medium">{summary}.</strong> <span className="text-muted">{description}</span>
      </p>
      <Examples document={document} endpoint={endpoint} />
      <FieldList
        document={document}
        title="Headers and path"
        fields={parametersOf(document, endpoint).map((each) => [
          each.name,
          { ...each.schema, description: each.description },
          each.required ?? false,
        ])}
      />
      {request && <FieldList document={document} title="Request" schema={request.schema} />}
      {answer['application/json'] && (
        <FieldList document={document} title="Answer" schema={answer['application/json'].schema} />
      )}
      {answer['text/event-stream'] && (
        <p className="text-sm text-muted">
          <strong className="font-medium text-ink">As a stream.</strong>{' '}
          {answer['text/event-stream'].schema.description}
        </p>
      )}
      <Errors endpoint={endpoint} />
    </section>
  )
}

function parametersOf({ components }: OpenApi, { parameters }: Endpoint): Parameter[] {
  return parameters.flatMap((each) => ('$ref' in each ? (components.parameters[nameOf(each.$ref)] ?? []) : each))
}

/** Requests to paste, then what comes back. */
function Examples({ document, endpoint }: { document: OpenApi; endpoint: Endpoint }) {
  const requests = Object.entries(endpoint.requestBody?.content['application/json']?.examples ?? {})
  const shells = requests.length === 0 ? [['call', { summary: 'Shell', value: undefined }] as const] : requests
  const { 'application/json': json, 'text/event-stream': events } = endpoint.responses['200']?.content ?? {}
  const tabs = [
    ...shells.map(([name, { summary, value }]) => ({
      value: name,
      label: summary,
      content: <Code title={summary} language="sh" code={curlOf(document, endpoint, value)} />,
    })),
    ...(json?.example === undefined
      ? []
      : [
          {
            value: 'answer',
            label: 'Answer',
            content: <Code title="Answer" language="json" code={JSON.stringify(json.example, null, 2)} />,
          },
        ]),
    ...Object.entries(events?.examples ?? {}).map(([name, { summary, value }]) => ({
      value: `events-${name}`,
      label: name === 'failed' ? 'Failed stream' : 'Events',
      content: <Code title={`Events: ${summary}`} language="http" code={String(value).trim()} />,
    })),
  ]
  return <Tabs label={`Examples of ${endpoint.method} ${endpoint.path}`} tabs={tabs} />
}

function Errors({ endpoint }: { endpoint: Endpoint }) {
  const failures = Object.entries(endpoint.responses).filter(([status]) => status !== '200')
  return (
    <details className="rounded-lg border border-line bg-surface">
      <summary className="px-4 py-2.5 text-sm font-medium">Errors</summary>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-5 gap-y-1.5 border-t border-line px-4 py-3 text-sm">
        {failures.map(([status, { description }]) => (
          <div key={status} className="contents">
            <dt className="tabular font-medium">{status}</dt>
            <dd className="flex flex-wrap gap-x-3 gap-y-1">
              {description.split(', ').map((code) => (
                <RouterLink
                  key={code}
                  to="/docs/errors"
                  hash={code}
                  className="rounded-sm font-mono text-accent-text underline underline-offset-4"
                >
                  {code}
                </RouterLink>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
