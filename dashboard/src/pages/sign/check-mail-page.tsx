import { useMutation } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { MailCheck } from 'lucide-react'
import { useEffect, useState } from 'react'
import { api } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { FrameCard } from '../../shell/frame-card.tsx'

/** The server sends at most one mail a minute to an address; the button says so instead of failing. */
const COOLDOWN_SECONDS = 60

export function CheckMailPage() {
  const { email = '' } = useSearch({ strict: false }) as { email?: string }
  const [seconds, setSeconds] = useState(COOLDOWN_SECONDS)
  const resend = useMutation({
    mutationFn: () => api('POST /api/auth/send-verification-email', { body: { email } }),
    onSuccess: () => setSeconds(COOLDOWN_SECONDS),
  })
  useEffect(() => {
    if (seconds === 0) return undefined
    const timer = setTimeout(() => setSeconds(seconds - 1), 1_000)
    return () => clearTimeout(timer)
  }, [seconds])
  return (
    <FrameCard
      title="Check your email"
      description={
        <>
          We sent an email to <strong className="font-medium break-words text-ink">{email || 'your address'}</strong>.
          Follow the link in it to confirm your address.
        </>
      }
      below={<Link to="/sign-in">Sign in</Link>}
    >
      <div className="flex flex-col gap-4">
        <p className="flex items-start gap-2.5 text-sm text-muted">
          <MailCheck className="mt-0.5 size-4 shrink-0" aria-hidden />
          No email after a few minutes? Check your spam folder, or send it again.
        </p>
        {resend.isSuccess && <Notice tone="good">Another email is on its way.</Notice>}
        {resend.error && <Notice tone="bad">{resend.error.message}</Notice>}
        <Button
          size="lg"
          className="tabular"
          isBusy={resend.isPending}
          disabled={seconds > 0 || email === ''}
          onClick={() => resend.mutate()}
        >
          {seconds > 0 ? `Send again in ${seconds} s` : 'Send again'}
        </Button>
      </div>
    </FrameCard>
  )
}
