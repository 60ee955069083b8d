import { PageHeader } from '../../components/page-header.tsx'
import { useApi } from '../../queries.ts'
import { DeleteAccountCard } from './delete-account-card.tsx'
import { PasskeysCard } from './passkeys-card.tsx'
import { PasswordCard } from './password-card.tsx'
import { ProfileCard } from './profile-card.tsx'
import { SessionsCard } from './sessions-card.tsx'
import { TwoFactorCard } from './two-factor-card.tsx'

export function AccountPage() {
  const sessions = useApi('GET /api/me/sessions', {})
  return (
    <>
      <PageHeader title="Account settings" description="Your name, how you sign in, and where you are signed in." />
      <div className="flex max-w-3xl flex-col gap-6">
        <ProfileCard />
        <PasswordCard />
        <TwoFactorCard />
        <PasskeysCard />
        <SessionsCard />
        {/* How many sessions there are is known only when they arrive, and nothing may move then. */}
        {(sessions.data ?? sessions.error) && <DeleteAccountCard />}
      </div>
    </>
  )
}
