import { useState, type ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { EditLimits, type Subject } from './edit-limits.tsx'
import { HowLimitsWork } from './how-limits-work.tsx'
import { KeyLimits } from './key-limits.tsx'
import { LimitBars } from './limit-bars.tsx'
import { hasLimits, type Limits, type LimitValues } from './limit-lines.ts'
import { ValueList } from './value-list.tsx'

const EVERY_MS = 15_000

export function LimitsPage() {
  const project = useProject()
  const call = { params: { project: project.id } }
  const { data, error, refetch } = useApi('GET /api/projects/:project/limits', call, { everyMs: EVERY_MS })
  return (
    <>
      <PageHeader
        title="Limits"
        context={project.name}
        docs="limits"
        description="The most that calls may use: hard budgets in money, and rates."
      />
      {error && !data ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Loaded limits={data} />
      ) : (
        <Card title="Limits">
          <SkeletonLines count={12} />
        </Card>
      )}
    </>
  )
}

/** Everything comes at once: what stands below is never moved by what comes later. */
function Loaded({ limits }: { limits: Limits }) {
  const project = useProject()
  const [subject, setSubject] = useState<Subject>()
  // From the page of the keys, one comes with the pair that is to be limited.
  const [{ key }, setFilters] = useFilters(['key'] as const)
  const named = project.may('admin') ? limits.keys.find(({ id }) => id === key) : undefined
  const edited = subject ?? (named && { scope: 'key' as const, key: named })
  function close(): void {
    setSubject(undefined)
    if (key !== undefined) setFilters({ key: '' })
  }
  const { operator, account, project: own, endUsers } = limits
  return (
    <div className="flex flex-col gap-6">
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Card
          title="This project"
          description="All its key pairs and end users together."
          action={
            project.may('admin') &&
            !project.isSandbox && <EditButton of="this project" onClick={() => setSubject({ scope: 'project' })} />
          }
        >
          <div className="flex flex-col gap-5">
            {!project.isSandbox && (
              <Part title="Yours">
                <LimitBars {...own} />
              </Part>
            )}
            <Part title="Set by the operator">
              {project.isSandbox ? (
                <LimitBars rates={[...operator.rates, ...own.rates]} budgets={own.budgets} />
              ) : (
                <LimitBars rates={operator.rates} budgets={[]} />
              )}
            </Part>
          </div>
        </Card>
        <div className="flex flex-col gap-6">
          {account && (
            <Card
              title="The account"
              description={`All projects of ${project.publisher.name} together.`}
              action={
                project.may('owner') && <EditButton of="the account" onClick={() => setSubject({ scope: 'account' })} />
              }
            >
              <LimitBars {...account} />
            </Card>
          )}
          <EndUsersCard values={endUsers.values} onEdit={() => setSubject({ scope: 'end-users' })} />
        </div>
      </div>
      <KeyLimits
        keys={limits.keys}
        onEdit={project.may('admin') && ((pair) => setSubject({ scope: 'key', key: pair }))}
      />
      <HowLimitsWork />
      {edited && <EditLimits limits={limits} subject={edited} onClose={close} />}
    </div>
  )
}

function EndUsersCard({ values, onEdit }: { values: LimitValues; onEdit(): void }) {
  const project = useProject()
  return (
    <Card
      title="Each end user"
      description={
        <>
          Each end user separately, unless one has their own: see{' '}
          <Link to={`/projects/${project.id}/end-users`}>End users</Link>.
        </>
      }
      action={project.may('admin') && <EditButton of="every end user" onClick={onEdit} />}
    >
      {hasLimits(values) ? <ValueList values={values} /> : <p className="text-muted">No limits.</p>}
    </Card>
  )
}

function EditButton({ of, onClick }: { of: string; onClick(): void }) {
  return (
    <Button size="sm" aria-label={`Edit the limits of ${of}`} onClick={onClick}>
      Edit
    </Button>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <h3 className="mb-2 text-sm font-medium text-muted">{title}</h3>
      {children}
    </div>
  )
}
