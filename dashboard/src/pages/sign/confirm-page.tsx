import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { toastError } from '../../components/toast.tsx'
import { FrameCard } from '../../shell/frame-card.tsx'
import { useLinkToken } from './link-token.ts'

/** A press and not a visit confirms: scanners of mail open every link in it. */
export function ConfirmPage() {
  const token = useLinkToken()
  const client = useQueryClient()
  const [answer, setAnswer] = useState<{ activated: boolean }>()
  const [isBusy, setBusy] = useState(false)
  if (token === '') return <NoToken />
  if (answer) return <Confirmed activated={answer.activated} />

  async function confirm(): Promise<void> {
    setBusy(true)
    try {
      setAnswer(await api('POST /api/auth/verify-email', { body: { token } }))
      client.clear()
    } catch (error) {
      toastError(error)
    }
    setBusy(false)
  }
  return (
    <FrameCard title="Confirm your e-mail address" description="One press, and your account is yours.">
      <Button look="primary" size="lg" className="w-full" isBusy={isBusy} onClick={() => void confirm()}>
        Confirm address
      </Button>
    </FrameCard>
  )
}

function Confirmed({ activated }: { activated: boolean }) {
  return (
    <FrameCard title="Confirmed">
      <div className="flex flex-col gap-5">
        {activated ? (
          <Notice tone="good">Your address is confirmed and the account is active.</Notice>
        ) : (
          <Notice tone="warn">
            Your address is confirmed. The account waits for approval; you can set everything up meanwhile.
          </Notice>
        )}
        <Link to="/" look="primary" className="h-10">
          Go to the console
        </Link>
      </div>
    </FrameCard>
  )
}

function NoToken() {
  return (
    <FrameCard title="This link is not complete" below={<Link to="/sign-in">Sign in</Link>}>
      <Notice tone="warn">Copy the entire link from the mail, or sign in and have another one sent.</Notice>
    </FrameCard>
  )
}
