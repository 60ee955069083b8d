import { useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useDialogInAddress } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject, type CurrentProject } from '../../session.ts'
import { keyColumns } from './key-columns.tsx'
import type { KeyPair, NewKeyPair } from './key-pair.ts'
import { NewKeyDialog } from './new-key-dialog.tsx'
import { mayMakePair, obstacleOf } from './obstacle.ts'
import { ShownOnceDialog } from './shown-once-dialog.tsx'

const EVERY_MS = 15_000

export function KeysPage() {
  const project = useProject()
  const client = useQueryClient()
  const [isCreating, setCreating] = useDialogInAddress('new-key-pair')
  /** Held here and nowhere else: closing the dialog is the end of the secret. */
  const [made, setMade] = useState<NewKeyPair>()
  const keys = useApi('GET /api/projects/:project/keys', { params: { project: project.id } }, { everyMs: EVERY_MS })
  const obstacle = obstacleOf(project)
  const mayCreate = mayMakePair(project)

  function show(pair: NewKeyPair): void {
    setMade(pair)
    setCreating(false)
  }
  /** The list grows when one looks at it again, not behind the dialog. */
  function forget(): void {
    setMade(undefined)
    void client.invalidateQueries({ queryKey: ['GET /api/projects/:project/keys'] })
  }
  const create = project.may('developer') && (
    <Button look="primary" icon={<Plus aria-hidden />} disabled={!mayCreate} onClick={() => setCreating(true)}>
      New key pair
    </Button>
  )
  return (
    <>
      <PageHeader
        title="API keys"
        context={project.name}
        docs="quick-start"
        description="What your servers identify themselves with: a publishable and a secret key, always sent together."
        action={create}
      />
      {obstacle && (
        <div className="mb-4">
          <Obstacle of={obstacle} project={project} />
        </div>
      )}
      <DataTable
        label="Key pairs"
        columns={keyColumns({ mayChange: project.may('developer'), onRolled: show })}
        rows={keys.data && inFamilies(keys.data.items)}
        keyOf={({ id }) => id}
        error={keys.error}
        onRetry={() => void keys.refetch()}
        skeletonRows={3}
        empty={
          <EmptyState icon={KeyRound} title="No key pairs yet" action={mayCreate && create}>
            A key pair proves to Parley that a call comes from your servers. Create one for each place that makes calls.
          </EmptyState>
        }
      />
      {keys.data && keys.data.items.length > 0 && (
        <p className="mt-3 text-sm text-muted">
          “Last used” is updated every minute. “30 days” is what was spent with the pair in UTC, including today.
        </p>
      )}
      {isCreating && mayCreate && !made && <NewKeyDialog onClose={() => setCreating(false)} onCreated={show} />}
      {made && <ShownOnceDialog pair={made} onClose={forget} />}
    </>
  )
}

function Obstacle({ of, project }: { of: 'account' | 'domain'; project: CurrentProject }) {
  if (of === 'account') return <Notice tone="warn">You can create key pairs once the account is activated.</Notice>
  const link = (
    <Link to={`/projects/${project.id}/domain`} look="secondary">
      Verify the domain
    </Link>
  )
  return (
    <Notice tone="warn" action={link}>
      You can create key pairs once <strong>{project.domain}</strong> is verified. Until then, calls are refused with
      403.
    </Notice>
  )
}

/** Each pair is followed by those that it has replaced: what belongs together stands together. */
function inFamilies(pairs: KeyPair[]): KeyPair[] {
  const known = new Set(pairs.map(({ id }) => id))
  const replacedBy = Map.groupBy(pairs, ({ replacedBy: by }) => (by !== null && known.has(by) ? by : 'nobody'))
  const familyOf = (pair: KeyPair): KeyPair[] => [pair, ...(replacedBy.get(pair.id) ?? []).flatMap(familyOf)]
  return (replacedBy.get('nobody') ?? []).flatMap(familyOf)
}
