import { useMutation } from '@tanstack/react-query'
import { WifiOff } from 'lucide-react'
import { useSyncExternalStore, type ReactNode } from 'react'
import { api } from '../api.ts'
import { Button } from '../components/button.tsx'
import { Link } from '../components/link.tsx'
import { toast, toastError } from '../components/toast.tsx'
import { formatMoney } from '../formats.ts'
import { isLow } from '../pages/wallet/amounts.ts'
import { registeredPages } from '../registered-pages.ts'
import { useMe, usePlace } from '../session.ts'

/** What stands in the way, most important first; one at a time, or nobody reads any. */
export function Banners() {
  const isOnline = useSyncExternalStore(subscribeToNetwork, () => navigator.onLine)
  const { user, installation } = useMe()
  const { publisher, project } = usePlace()
  if (!isOnline) return <OfflineBanner />
  if (!user.emailVerified) return <MailBanner email={user.email} />
  if (publisher !== undefined && publisher.activatedAt === null) {
    const sentence = installation.requiresApproval
      ? 'This account waits for approval. You can set everything up; calls are answered once it is approved.'
      : 'This account is not activated yet. Calls are answered once its owner has confirmed the e-mail address.'
    return <Banner>{sentence}</Banner>
  }
  if (project?.domainVerifiedAt && isLow(project))
    return <BalanceBanner projectId={project.id} balance={project.balanceNanos} />
  return null
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
      You are offline. What you see is from before; changes cannot be saved.
    </Banner>
  )
}

function MailBanner({ email }: { email: string }) {
  const resend = useMutation({
    mutationFn: () => api('POST /api/auth/send-verification-email', { body: { email } }),
    onSuccess: () => toast(`Another mail is on its way to ${email}.`),
    onError: toastError,
  })
  const button = (
    <Button size="sm" isBusy={resend.isPending} disabled={resend.isSuccess} onClick={() => resend.mutate()}>
      {resend.isSuccess ? 'Sent' : 'Send again'}
    </Button>
  )
  return (
    <Banner action={button}>
      Confirm your e-mail address to activate the account: follow the link that we sent to <strong>{email}</strong>.
    </Banner>
  )
}

function BalanceBanner({ projectId, balance }: { projectId: string; balance: string }) {
  const hasWallet = registeredPages.some(({ path }) => path === 'wallet')
  const link = (
    <Link to={`/projects/${projectId}/wallet`} look="secondary">
      Top up
    </Link>
  )
  return (
    <Banner action={hasWallet && link}>
      {BigInt(balance) > 0n
        ? `${formatMoney(balance)} is left. Calls are refused when the balance does not cover them.`
        : 'The balance is used up, so calls are refused.'}
    </Banner>
  )
}

function subscribeToNetwork(listener: () => void): () => void {
  window.addEventListener('online', listener)
  window.addEventListener('offline', listener)
  return () => {
    window.removeEventListener('online', listener)
    window.removeEventListener('offline', listener)
  }
}
