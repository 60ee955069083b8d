import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { Reply } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Money } from '../../components/figures.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Stat } from '../../components/stat.tsx'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { AlertCard } from './alert-card.tsx'
import { HardStopCard } from './hard-stop-card.tsx'
import { Ledger } from './ledger.tsx'
import { PaymentNotice } from './payment-notice.tsx'
import { TopUpDialog } from './top-up-dialog.tsx'

const EVERY_MS = 15_000

export function WalletPage() {
  const project = useProject()
  const [isTopUpOpen, setTopUpOpen] = useState(false)
  const call = { params: { project: project.id } }
  const { data: wallet, error } = useApi('GET /api/projects/:project/wallet', call, { everyMs: EVERY_MS })
  const button = (
    <Button
      look="primary"
      icon={<Plus aria-hidden />}
      disabled={!wallet?.topUp.isOpen}
      onClick={() => setTopUpOpen(true)}
    >
      Top up
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Wallet"
        context={project.name}
        description="Prepaid credit that calls are charged to. One credit is one US dollar."
        action={project.may('admin') && button}
      />
      <div className="flex flex-col gap-6">
        <PaymentNotice />
        {error && !wallet && <Notice tone="bad">{error.message}</Notice>}
        <Figures wallet={wallet} />
        {wallet && wallet.owedNanos !== '0' && (
          <Notice tone="bad">
            <Money nanos={wallet.owedNanos} /> is owed: a payment was taken back after its credit had been spent. Calls
            are refused until it is paid. A top-up pays it first.
          </Notice>
        )}
        {/* Whether there is a notice is known with the wallet. What stands below waits for it, and so never moves. */}
        {wallet && !wallet.topUp.isOpen && (
          <Notice>Payments are not set up on this installation. Its operator can add credit to this wallet.</Notice>
        )}
        {(wallet ?? error) && (
          <>
            <div className="grid gap-6 lg:grid-cols-2">
              <AlertCard key={String(wallet?.alertNanos)} wallet={wallet} />
              <HardStopCard />
            </div>
            <Ledger />
          </>
        )}
      </div>
      {wallet && isTopUpOpen && <TopUpDialog topUp={wallet.topUp} onClose={() => setTopUpOpen(false)} />}
    </>
  )
}

function Figures({ wallet }: { wallet: Reply<'GET /api/projects/:project/wallet'> | undefined }) {
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      <Stat
        label="Available now"
        value={wallet && <Money nanos={wallet.availableNanos} />}
        note={wallet && paceOf(wallet.daysLeft)}
      />
      <Stat
        label="Held by running calls"
        value={wallet && <Money nanos={wallet.heldNanos} />}
        note={wallet && (wallet.runningCalls === 1 ? '1 call is running' : `${wallet.runningCalls} calls are running`)}
      />
      <Stat
        label="Balance"
        value={wallet && <Money nanos={wallet.balanceNanos} />}
        note={wallet && <SpentNote nanos={wallet.spent7dNanos} />}
      />
    </div>
  )
}

function SpentNote({ nanos }: { nanos: string }) {
  return (
    <span>
      <Money nanos={nanos} /> spent in 7 days
    </span>
  )
}

const LONG_DAYS = 400

function paceOf(days: number | null): string {
  if (days === null) return 'Nothing spent in the last 7 full days'
  if (days > LONG_DAYS) return 'Lasts for more than a year'
  const whole = Math.floor(days)
  return whole === 0 ? 'Lasts for less than a day' : `Lasts about ${whole} ${whole === 1 ? 'day' : 'days'} at this pace`
}
