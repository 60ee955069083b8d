import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Checkbox } from '../../components/toggles.tsx'
import { formatMoney } from '../../formats.ts'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Settings } from './settings.ts'

const CREDIT_HINT = 'No one will be able to use it. To move it to another project, ask the operator first.'
const EARNINGS_HINT =
  'No one will be able to use it. Earnings go to the wallet after seven days. To move credit to another project, ask the operator first.'
const TRIAL_HINT = 'Trial credit stays in the sandbox. It cannot be moved to another project.'

export function DeleteProjectCard({ settings }: { settings: Settings }) {
  const project = useProject()
  const [isOpen, setOpen] = useState(false)
  const [leavesCredit, setLeavesCredit] = useState(false)
  const remove = useChange('DELETE /api/projects/:project')
  const hasEarnings = BigInt(settings.pendingNanos) > 0n
  const left = [
    BigInt(settings.balanceNanos) > 0n && `${formatMoney(settings.balanceNanos)} of credit`,
    hasEarnings && `${formatMoney(settings.pendingNanos)} of pending earnings`,
  ].filter((each) => each !== false)
  async function confirm(): Promise<void> {
    await remove.mutateAsync({ params: { project: project.id }, body: { leavesCredit } })
    // Everything that is on the screen belongs to the project, so the console begins anew.
    window.location.assign('/')
  }
  return (
    <Card title="Delete this project" className="border-bad/40!" description="Owners only. This cannot be undone.">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <p className="max-w-lg text-muted">
          Its {settings.keyPairs === 1 ? 'key pair stops' : `${settings.keyPairs} key pairs stop`} at once,{' '}
          {project.isSandbox ? 'no other sandbox is created' : `${project.domain} becomes available to other projects`},
          and the text of its conversations is erased. The ledger keeps every transaction.
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
          Calls with its keys are refused immediately,{' '}
          {project.isSandbox ? 'you get no other sandbox' : `${project.domain} is released`}, and what was said in its
          conversations is erased. Calls and charges stay in the ledger.
        </p>
        {left.length > 0 && (
          <div className="mt-3 rounded-md bg-warn-soft px-3 py-2.5 text-ink">
            <Checkbox
              checked={leavesCredit}
              onChange={setLeavesCredit}
              label={`${left.join(' and ')} may be lost`}
              hint={project.isSandbox ? TRIAL_HINT : hasEarnings ? EARNINGS_HINT : CREDIT_HINT}
            />
          </div>
        )}
      </ConfirmDialog>
    </Card>
  )
}
