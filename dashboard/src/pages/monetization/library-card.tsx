import { Card } from '../../components/card.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { Switch } from '../../components/toggles.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CHANGED, type Monetization } from './monetization.ts'

/** Takes effect at once. */
export function LibraryCard({ library }: { library: Monetization['library'] }) {
  const project = useProject()
  const mayChange = project.may('admin')
  const change = useChange('PUT /api/projects/:project/monetization/library', [...CHANGED])
  const { isPublic, address } = library
  function set(isWanted: boolean): void {
    const told = isWanted ? 'The ad library is public.' : 'The ad library is closed.'
    change.mutate(
      { params: { project: project.id }, body: { isPublic: isWanted } },
      { onSuccess: () => toast(told), onError: toastError },
    )
  }
  return (
    <Card
      title="Public ad library"
      description="A public page: each offer that was recommended in the last 90 days, who paid for it, and how often. It shows nothing of any conversation, and no counts below ten."
    >
      <div className="flex flex-col gap-3">
        <Switch
          checked={isPublic}
          onChange={set}
          disabled={!mayChange || change.isPending}
          label="Show it to everyone"
          hint={mayChange ? undefined : 'Only owners and admins can change this.'}
        />
        {isPublic && (
          <p className="text-sm wrap-anywhere">
            <a href={address} className="text-accent-text underline underline-offset-2">
              {address}
            </a>
          </p>
        )}
      </div>
    </Card>
  )
}
