import { lazy, Suspense, useState, type ReactNode } from 'react'
import { Card } from '../../components/card.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useFilters } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { MatcherNotice } from './matcher-notice.tsx'
import { ModeCard } from './mode-card.tsx'
import type { Monetization } from './monetization.ts'
import { Results } from './results.tsx'
import { useControls } from './use-controls.ts'

const Preview = lazy(async () => ({ default: (await import('./preview-card.tsx')).PreviewCard }))
const Rehearsal = lazy(async () => ({ default: (await import('./rehearsal.tsx')).Rehearsal }))
const Controls = lazy(async () => ({ default: (await import('./controls.tsx')).Controls }))

const EVERY_MS = 15_000

export function MonetizationPage() {
  const project = useProject()
  const call = { params: { project: project.id } }
  const { data, error, refetch } = useApi('GET /api/projects/:project/monetization', call, { everyMs: EVERY_MS })
  return (
    <>
      <PageHeader
        title="Monetization"
        context={project.name}
        docs="monetization"
        description="Let replies end with one labelled recommendation for a product that fits the conversation."
      />
      {error && !data ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Loaded key={project.id} settings={data} />
      ) : (
        <Card title="Mode">
          <SkeletonLines count={9} />
        </Card>
      )}
    </>
  )
}

function Loaded({ settings }: { settings: Monetization }) {
  const [filters, setFilters] = useFilters(['view'] as const)
  // People who have not begun want to know what it would look like; all others, how it goes. Nothing jumps when that changes.
  const [first] = useState(settings.mode === 'off' ? 'preview' : 'results')
  const view = VIEWS.find((each) => each === filters.view) ?? first
  // Above the tabs: what was typed survives a look at another one.
  const controls = useControls(settings)
  return (
    <div className="flex flex-col gap-6">
      <MatcherNotice matcher={settings.matcher} mode={settings.mode} />
      <ModeCard settings={settings} />
      <Tabs
        label="Monetization"
        value={view}
        onChange={(next) => setFilters({ view: next })}
        tabs={[
          { value: 'results', label: 'Results', content: <Results settings={settings} /> },
          { value: 'preview', label: 'Label and preview', content: awaited(<Preview settings={settings} />) },
          {
            value: 'rehearsal',
            label: 'Rehearsal',
            content: awaited(<Rehearsal mode={settings.mode} />),
          },
          {
            value: 'controls',
            label: 'Controls',
            content: awaited(<Controls form={controls} settings={settings} />),
          },
        ]}
      />
    </div>
  )
}

function awaited(content: ReactNode): ReactNode {
  return <Suspense fallback={<SkeletonLines count={9} />}>{content}</Suspense>
}

const VIEWS = ['results', 'preview', 'rehearsal', 'controls'] as const
