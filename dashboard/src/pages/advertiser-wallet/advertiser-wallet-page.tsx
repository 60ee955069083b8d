import { useQueryClient } from '@tanstack/react-query'
import { Plus, ReceiptText } from 'lucide-react'
import { useEffect } from 'react'
import type { Reply } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time } from '../../components/figures.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState } from '../../components/states.tsx'
import { lastsInWords, NO_PACE } from '../../credit-lasts.ts'
import { useDialogInAddress, useFilters } from '../../filters.ts'
import { formatCount, formatDate } from '../../formats.ts'
import { useApi, useChange } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { PaymentState } from '../wallet/payment-notice.tsx'
import { PaymentDialog } from '../wallet/top-up-dialog.tsx'

type Wallet = Reply<'GET /api/advertisers/:advertiser/wallet'>

const EVERY_MS = 15_000
const PAYMENT_EVERY_MS = 1_500

export function AdvertiserWalletPage() {
  const advertiser = useAdvertiser()
  const [isTopUpOpen, setTopUpOpen] = useDialogInAddress('top-up')
  const params = { advertiser: advertiser.id }
  const {
    data: wallet,
    error,
    refetch,
  } = useApi('GET /api/advertisers/:advertiser/wallet', { params }, { everyMs: EVERY_MS })
  const checkout = useChange('POST /api/advertisers/:advertiser/checkouts')
  const mayPay = advertiser.may('admin')
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
        context={advertiser.name}
        description="Prepaid credit that paid clicks are charged to. One credit is one US dollar."
        action={mayPay && button}
      />
      <div className="flex flex-col gap-6">
        <PaymentNotice />
        <div className="grid gap-3 sm:grid-cols-2">
          <Stat
            label="Balance"
            value={wallet && <Money nanos={wallet.balanceNanos} />}
            note={wallet && (wallet.daysLeft === null ? NO_PACE : `Lasts ${lastsInWords(wallet.daysLeft)}`)}
          />
          <Stat label="Spent in 7 days" value={wallet && <Money nanos={wallet.spent7dNanos} />} note="on paid clicks" />
        </div>
        {wallet && !wallet.topUp.isOpen && (
          <Notice>Payments are not set up on this installation. Its operator can add credit to this wallet.</Notice>
        )}
        {/* How tall everything above is, is known with the wallet. */}
        {(wallet ?? error) && <Movements wallet={wallet} error={error} onRetry={() => void refetch()} />}
        {wallet && <Days wallet={wallet} />}
      </div>
      {wallet?.topUp.isOpen && mayPay && isTopUpOpen && (
        <PaymentDialog
          topUp={wallet.topUp}
          onClose={() => setTopUpOpen(false)}
          name={advertiser.name}
          open={(amountNanos) => checkout.mutateAsync({ params, body: { amountNanos } })}
        />
      )}
    </>
  )
}

interface MovementsProps {
  wallet: Wallet | undefined
  error: Error | null
  onRetry(): void
}

function Movements({ wallet, error, onRetry }: MovementsProps) {
  return (
    <section>
      <h2 className="mb-3 text-base font-semibold">Credit</h2>
      <DataTable
        label="Credit"
        columns={MOVEMENTS}
        rows={wallet?.movements}
        keyOf={({ id }) => id}
        error={error}
        onRetry={onRetry}
        skeletonRows={3}
        empty={
          <EmptyState icon={ReceiptText} title="No credit yet">
            Top-ups, gifts and refunds appear here. Nothing is recommended while the wallet is empty.
          </EmptyState>
        }
      />
    </section>
  )
}

function Days({ wallet }: { wallet: Wallet }) {
  return (
    <section>
      <h2 className="mb-3 text-base font-semibold">Spent on clicks</h2>
      <DataTable
        label="Spent on clicks"
        columns={DAYS}
        rows={wallet.days}
        keyOf={({ at }) => at}
        empty={
          <EmptyState icon={ReceiptText} title="Nothing spent in 30 days">
            A click that was paid for appears under its day (UTC).
          </EmptyState>
        }
      />
    </section>
  )
}

const MOVEMENTS: Column<Wallet['movements'][number]>[] = [
  { label: 'What', isTitle: true, cell: ({ title }) => title },
  { label: 'When', width: 'w-48', cell: ({ at }) => <Time iso={at} /> },
  {
    label: 'Note',
    cell: ({ reason, reference }) => (
      <span className="block truncate text-muted">{reason ?? reference ?? <Nothing />}</span>
    ),
  },
  {
    label: 'Amount',
    align: 'right',
    width: 'w-36',
    amountOf: ({ deltaNanos }) => deltaNanos,
    cell: ({ deltaNanos }, decimals) => <Money nanos={deltaNanos} sign decimals={decimals} />,
  },
]

const DAYS: Column<Wallet['days'][number]>[] = [
  { label: 'Day', isTitle: true, cell: ({ at }) => `${formatDate(at, 'UTC')} (UTC)` },
  { label: 'Paid clicks', align: 'right', width: 'w-36', cell: ({ clicks }) => formatCount(clicks) },
  {
    label: 'Spent',
    align: 'right',
    width: 'w-36',
    amountOf: ({ spentNanos }) => spentNanos,
    cell: ({ spentNanos }, decimals) => <Money nanos={spentNanos} decimals={decimals} />,
  },
]

/** Tells people who come back from the payment page when the credit is there. */
function PaymentNotice() {
  const [{ paid }, setFilters] = useFilters(['paid'] as const)
  return paid ? <Payment key={paid} checkout={paid} onDismiss={() => setFilters({ paid: '' })} /> : null
}

function Payment({ checkout, onDismiss }: { checkout: string; onDismiss(): void }) {
  const advertiser = useAdvertiser()
  const client = useQueryClient()
  const params = { advertiser: advertiser.id, checkout }
  const endpoint = 'GET /api/advertisers/:advertiser/checkouts/:checkout'
  const known = client.getQueryData<{ state: string }>([endpoint, { params }])
  const isOpen = known === undefined || known.state === 'created'
  const { data, error } = useApi(endpoint, { params }, isOpen ? { everyMs: PAYMENT_EVERY_MS } : {})
  const state = data?.state
  useEffect(() => {
    if (state !== 'paid') return
    for (const key of ['GET /api/advertisers/:advertiser/wallet', 'GET /api/advertisers/:advertiser'])
      void client.invalidateQueries({ queryKey: [key] })
  }, [state, client])
  return error ? null : <PaymentState payment={data} onDismiss={onDismiss} />
}
