import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Checkbox } from '../../components/toggles.tsx'
import { formatMoney } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Settings } from './settings.ts'

export function DeleteProjectCard({ settings }: { settings: Settings }) {
  const project = useProject()
  const [isOpen, setOpen] = useState(false)
  const [leavesCredit, setLeavesCredit] = useState(false)
  const remove = useChange('DELETE /api/projects/:project')
  const credit = BigInt(settings.balanceNanos) > 0n ? formatMoney(settings.balanceNanos) : undefined
  async function confirm(): Promise<void> {
    await remove.mutateAsync({ params: { project: project.id }, body: { leavesCredit } })
    // Everything that is on the screen belongs to the project, so the console begins anew.
    window.location.assign('/')
  }
  return (
    <Card title="Delete this project" className="border-bad/40!" description="For owners. It cannot be brought back.">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <p className="max-w-lg text-muted">
          Its {settings.keyPairs === 1 ? 'key pair stops' : `${settings.keyPairs} key pairs stop`} at once,{' '}
          {project.domain} is free for another project, and the text of its conversations is erased. The ledger keeps
          every movement.
        </p>
        <Button look="quiet-danger" onClick={() => setOpen(true)}>
          Delete project
        </Button>
      </div>
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={`Delete the project ${project.name}?`}
        verb="Delete project"
        typed={project.name}
        onConfirm={confirm}
      >
        <p>
          Calls with its keys are refused from now on, {project.domain} is released, and what was said in its
          conversations is erased. Calls and charges stay in the ledger.
        </p>
        {credit && (
          <div className="mt-3 rounded-md bg-warn-soft px-3 py-2.5 text-ink">
            <Checkbox
              checked={leavesCredit}
              onChange={setLeavesCredit}
              label={`${credit} of credit may stay behind`}
              hint="Nobody can use it then. Ask the operator first if it should go to another project."
            />
          </div>
        )}
      </ConfirmDialog>
    </Card>
  )
}
