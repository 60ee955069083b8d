import { useMutation } from '@tanstack/react-query'
import { WifiOff, X } from 'lucide-react'
import { useState, useSyncExternalStore, type ReactNode } from 'react'
import { api } from '../api.ts'
import { Button } from '../components/button.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { Link } from '../components/link.tsx'
import { toast, toastError } from '../components/toast.tsx'
import { formatMoney } from '../formats.ts'
import { mayActAs } from '../page.ts'
import { isLow } from '../pages/wallet/amounts.ts'
import { useMe, usePlace, type ProjectOfMine } from '../session.ts'

/** The obstacles in the way, most important first; one at a time, or nobody reads any. */
export function Banners() {
  const isOnline = useSyncExternalStore(subscribeToNetwork, () => navigator.onLine)
  const { user, installation } = useMe()
  const { publisher, project, advertiser } = usePlace()
  if (!isOnline) return <OfflineBanner />
  if (!user.emailVerified) return <MailBanner email={user.email} />
  if (advertiser !== undefined) return <AdvertiserBanner status={advertiser.status} />
  if (publisher !== undefined && publisher.activatedAt === null) {
    const sentence = installation.requiresApproval
      ? 'This account is awaiting approval. You can set everything up; calls are answered once it is approved.'
      : 'This account is not activated yet. Calls are answered once its owner confirms their email address.'
    return <Banner>{sentence}</Banner>
  }
  if (project?.isSandbox) return BigInt(project.balanceNanos) > 0n ? null : <SandboxBanner />
  if (project?.domainVerifiedAt && isLow(project))
    return <BalanceBanner key={project.id} project={project} canPay={installation.canPay} />
  return null
}

const ADVERTISER_BANNERS: Partial<Record<string, string>> = {
  pending: 'This advertiser is waiting for the operator to activate it. You can set everything up meanwhile.',
  suspended: 'The operator has suspended this advertiser, so nothing of it is recommended.',
}

function AdvertiserBanner({ status }: { status: string }) {
  const sentence = ADVERTISER_BANNERS[status]
  return sentence === undefined ? null : <Banner>{sentence}</Banner>
}

function Banner({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div
      role="status"
      className="flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line bg-warn-soft px-4 py-1.5 sm:px-8"
    >
      <p className="min-w-0 flex-1 basis-64 text-sm text-ink">{children}</p>
      {action}
    </div>
  )
}

function OfflineBanner() {
  return (
    <Banner>
      <WifiOff className="mr-2 inline size-4 text-warn" aria-hidden />
      You are offline. This page may be out of date, and changes cannot be saved.
    </Banner>
  )
}

function MailBanner({ email }: { email: string }) {
  const resend = useMutation({
    mutationFn: () => api('POST /api/auth/send-verification-email', { body: { email } }),
    onSuccess: () => toast(`Another email is on its way to ${email}.`),
    onError: toastError,
  })
  const button = (
    <Button size="sm" isBusy={resend.isPending} disabled={resend.isSuccess} onClick={() => resend.mutate()}>
      {resend.isSuccess ? 'Sent' : 'Send again'}
    </Button>
  )
  return (
    <Banner action={button}>
      Confirm your email address to activate the account: follow the link we sent to <strong>{email}</strong>.
    </Banner>
  )
}

function SandboxBanner() {
  const { publisher } = usePlace()
  const link = (
    <Link to="/new-project" look="secondary">
      Create project
    </Link>
  )
  return (
    <Banner action={publisher && mayActAs(publisher.role, 'admin') && link}>
      This sandbox has no trial credit, so its calls are refused. Create a project with your own domain to continue.
    </Banner>
  )
}

function BalanceBanner({ project, canPay }: { project: ProjectOfMine; canPay: boolean }) {
  const key = `${DISMISSED}${project.id}`
  const [isDismissed, setDismissed] = useState(() => sessionStorage.getItem(key) !== null)
  const isEmpty = BigInt(project.balanceNanos) <= 0n
  // An empty balance stays in sight: calls are being refused.
  if (isDismissed && !isEmpty) return null
  function dismiss(): void {
    sessionStorage.setItem(key, 'yes')
    setDismissed(true)
  }
  const left = isEmpty
    ? 'The balance is used up, so calls are refused.'
    : `${formatMoney(project.balanceNanos)} is left. Calls are refused when the balance does not cover them.`
  return (
    <Banner
      action={
        <span className="flex items-center gap-2">
          {canPay && (
            <Link to={`/projects/${project.id}/wallet`} look="secondary">
              Top up
            </Link>
          )}
          {!isEmpty && <IconButton label="Dismiss" icon={<X aria-hidden />} onClick={dismiss} />}
        </span>
      }
    >
      {left}
      {!canPay && ' The operator of this installation adds credit.'}
    </Banner>
  )
}

/** For the session of this browser tab: who comes back tomorrow is told again. */
const DISMISSED = 'parley.low-balance.'

function subscribeToNetwork(listener: () => void): () => void {
  window.addEventListener('online', listener)
  window.addEventListener('offline', listener)
  return () => {
    window.removeEventListener('online', listener)
    window.removeEventListener('offline', listener)
  }
}
