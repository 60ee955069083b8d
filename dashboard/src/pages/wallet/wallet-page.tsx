import { Plus } from 'lucide-react'
import { lazy, Suspense } from 'react'
import type { Reply } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { classes } from '../../components/classes.ts'
import { Money } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Stat } from '../../components/stat.tsx'
import { lastsInWords, NO_PACE } from '../../credit-lasts.ts'
import { useDialogInAddress } from '../../filters.ts'
import { formatCounted } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { AlertCard } from './alert-card.tsx'
import { AutoTopUpCard } from './auto-top-up-card.tsx'
import { HardStopCard } from './hard-stop-card.tsx'
import { Ledger } from './ledger.tsx'
import { PaymentNotice } from './payment-notice.tsx'
import { TopUps } from './top-ups.tsx'

/** Loaded when it is opened: the page's figures are not kept waiting for it. */
const TopUpDialog = lazy(async () => ({ default: (await import('./top-up-dialog.tsx')).TopUpDialog }))

const EVERY_MS = 15_000

export function WalletPage() {
  const project = useProject()
  const [isTopUpOpen, setTopUpOpen] = useDialogInAddress('top-up')
  const call = { params: { project: project.id } }
  const { data: wallet, error } = useApi('GET /api/projects/:project/wallet', call, { everyMs: EVERY_MS })
  const isPaid = wallet?.topUp.isOpen === true && !project.isSandbox
  const auto = useApi('GET /api/projects/:project/auto-top-up', call, { enabled: isPaid, everyMs: EVERY_MS })
  // Everything below it waits for it, and so never moves.
  const isKnown = isPaid ? (auto.data ?? auto.error) : (wallet ?? error)
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
        action={project.may('admin') && (project.isSandbox ? <GoLive /> : button)}
      />
      <div className="flex flex-col gap-6">
        <PaymentNotice />
        {error && !wallet && <Notice tone="bad">{error.message}</Notice>}
        <Figures wallet={wallet} />
        {wallet && wallet.owedNanos !== '0' && (
          <Notice tone="bad">
            <Money nanos={wallet.owedNanos} /> is owed: a payment was reversed after its credit had been spent. Calls
            are refused until it is paid. Top-ups pay it first.
          </Notice>
        )}
        {/* Whether there is a notice is known with the wallet. What stands below waits for it, and so never moves. */}
        {project.isSandbox && (
          <Notice>
            A sandbox runs on trial credit and takes no top-ups. Create a project with your own domain to add credit.
          </Notice>
        )}
        {wallet && !wallet.topUp.isOpen && !project.isSandbox && (
          <Notice>Payments are not set up on this installation. Its operator can add credit to this wallet.</Notice>
        )}
        {isKnown && (
          <>
            <div className={classes('grid gap-6', !project.isSandbox && 'lg:grid-cols-2')}>
              {!project.isSandbox && <AlertCard key={String(wallet?.alertNanos)} wallet={wallet} />}
              <HardStopCard />
            </div>
            {isPaid && <AutoTopUp auto={auto.data} error={auto.error} topUp={wallet.topUp} />}
            {isPaid && <TopUps />}
            <Ledger />
          </>
        )}
      </div>
      {wallet?.topUp.isOpen && project.may('admin') && isTopUpOpen && (
        <Suspense>
          <TopUpDialog topUp={wallet.topUp} onClose={() => setTopUpOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

interface AutoTopUpProps {
  auto: Reply<'GET /api/projects/:project/auto-top-up'> | undefined
  error: Error | null
  topUp: Reply<'GET /api/projects/:project/wallet'>['topUp']
}

function AutoTopUp({ auto, error, topUp }: AutoTopUpProps) {
  if (auto) return <AutoTopUpCard key={JSON.stringify([auto.card, auto.settings])} auto={auto} topUp={topUp} />
  return error && <Notice tone="bad">{error.message}</Notice>
}

function GoLive() {
  return (
    <Link to="/new-project" look="primary">
      Create project
    </Link>
  )
}

function Figures({ wallet }: { wallet: Reply<'GET /api/projects/:project/wallet'> | undefined }) {
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      <Stat
        label="Available now"
        value={wallet && <Money nanos={wallet.availableNanos} />}
        note={wallet && (wallet.daysLeft === null ? NO_PACE : `Lasts ${lastsInWords(wallet.daysLeft)}`)}
      />
      <Stat
        label="Held by running calls"
        value={wallet && <Money nanos={wallet.heldNanos} />}
        note={wallet && `${formatCounted(wallet.runningCalls, 'call is', 'calls are')} running`}
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
