import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { LimitedKey } from './key-limits.tsx'
import type { NewLimits } from './limit-fields.ts'
import type { Limits } from './limit-lines.ts'
import { LimitsDialog } from './limits-dialog.tsx'

export type Subject = { scope: 'account' | 'project' | 'end-users' } | { scope: 'key'; key: LimitedKey }

const STALE = ['GET /api/projects/:project/limits', 'GET /api/projects/:project/end-users'] as const

const AT_ONCE = 'Takes effect immediately. What was already spent in the period counts, and so do running calls.'
const FROM_NEXT_CALL =
  'Takes effect immediately, for each end user separately. Counting starts with their first call under any limit.'

export function EditLimits({ limits, subject, onClose }: { limits: Limits; subject: Subject; onClose(): void }) {
  const project = useProject()
  const stale = [...STALE]
  const ofAccount = useChange('PUT /api/publishers/:publisher/limits', stale)
  const ofProject = useChange('PUT /api/projects/:project/limits', stale)
  const ofEndUsers = useChange('PUT /api/projects/:project/end-user-limits', stale)
  const ofKey = useChange('PUT /api/projects/:project/keys/:key/limits', stale)
  const params = { project: project.id }
  const shared = { onClose, description: AT_ONCE }
  switch (subject.scope) {
    case 'account': {
      const save = (body: NewLimits) => ofAccount.mutateAsync({ params: { publisher: project.publisher.id }, body })
      return limits.account && <LimitsDialog {...shared} of="the account" values={limits.account.values} save={save} />
    }
    case 'project': {
      const save = (body: NewLimits) => ofProject.mutateAsync({ params, body })
      return <LimitsDialog {...shared} of="this project" values={limits.project.values} save={save} />
    }
    case 'end-users': {
      const save = (body: NewLimits) => ofEndUsers.mutateAsync({ params, body })
      const values = limits.endUsers.values
      return <LimitsDialog {...shared} description={FROM_NEXT_CALL} of="every end user" values={values} save={save} />
    }
    case 'key': {
      const { id, name, values } = subject.key
      const save = (body: NewLimits) => ofKey.mutateAsync({ params: { ...params, key: id }, body })
      return <LimitsDialog {...shared} of={name} values={values} save={save} />
    }
  }
}
