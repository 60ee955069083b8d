import { useState } from 'react'
import { api } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useMe } from '../../session.ts'
import { EnableTwoFactorDialog } from './enable-two-factor-dialog.tsx'
import { RecoveryCodesDialog } from './recovery-codes.tsx'

type Open = 'enable' | 'disable' | 'codes'

export function TwoFactorCard() {
  const { user } = useMe()
  const [open, setOpen] = useState<Open>()
  const [codes, setCodes] = useState<string[]>()
  const disable = useChange('POST /api/me/two-factor/disable', ['GET /api/me'])
  const isOn = user.twoFactorEnabled

  async function turnOff(): Promise<void> {
    await disable.mutateAsync({})
    toast('Two-factor sign-in is off.')
  }
  async function renewCodes(): Promise<void> {
    const { recoveryCodes } = await api('POST /api/me/two-factor/recovery-codes', {})
    setCodes(recoveryCodes)
  }
  const close = () => setOpen(undefined)
  return (
    <Card
      title="Two-factor sign-in"
      description="Asks for a code from your phone as well as your password, so a stolen password is not enough."
      action={<Status tone={isOn ? 'good' : 'neutral'}>{isOn ? 'On' : 'Off'}</Status>}
    >
      <div className="flex flex-wrap gap-2">
        {!isOn && (
          <Button disabled={!user.emailVerified} onClick={() => setOpen('enable')}>
            Turn on
          </Button>
        )}
        {!user.emailVerified && <p className="self-center text-sm text-muted">Confirm your email address first.</p>}
        {isOn && <Button onClick={() => setOpen('codes')}>New recovery codes</Button>}
        {isOn && <Button onClick={() => setOpen('disable')}>Turn off</Button>}
      </div>
      {open === 'enable' && <EnableTwoFactorDialog onClose={close} />}
      <ConfirmDialog
        isOpen={open === 'disable'}
        title="Turn off two-factor sign-in?"
        verb="Turn off"
        onClose={close}
        onConfirm={turnOff}
      >
        Your password alone will sign you in.
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={open === 'codes'}
        title="New recovery codes?"
        verb="Create new codes"
        look="primary"
        onClose={close}
        onConfirm={renewCodes}
      >
        Your current codes stop working.
      </ConfirmDialog>
      {codes && <RecoveryCodesDialog codes={codes} onClose={() => setCodes(undefined)} />}
    </Card>
  )
}
