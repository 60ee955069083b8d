import { useQueryClient } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import type { Reply } from '../../api.ts'
import { Status } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Notice } from '../../components/notice.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { formatTime } from '../../formats.ts'
import { queryOf, useApi, useChange } from '../../queries.ts'
import { useAdvertiser } from '../../session.ts'
import { FileProof, RecordProof } from '../domain/proofs.tsx'

type Domain = Reply<'GET /api/advertisers/:advertiser/domain'>

const READS = 'GET /api/advertisers/:advertiser/domain'

/** How the domain is proven, and until then what proves it. */
export function DomainSection() {
  const advertiser = useAdvertiser()
  const client = useQueryClient()
  const call = { params: { advertiser: advertiser.id } }
  const { data, error } = useApi(READS, call)
  const check = useChange('POST /api/advertisers/:advertiser/domain/check', ['GET /api/advertisers/:advertiser'])
  function checkNow(): void {
    const onSuccess = (found: Domain) => {
      client.setQueryData(queryOf(READS, call).queryKey, found)
      toast(found.verifiedAt ? `${found.name} is verified.` : 'No proof was found yet.')
    }
    check.mutate(call, { onSuccess, onError: toastError })
  }
  const button = data?.verifiedAt === null && advertiser.may('editor') && (
    <Button icon={<RefreshCw aria-hidden />} isBusy={check.isPending} onClick={checkNow}>
      Check now
    </Button>
  )
  return (
    <section className="flex flex-col gap-6">
      <Card title="Domain" action={data ? <State domain={data} /> : <Skeleton className="h-5 w-24" />} footer={button}>
        {error && !data ? <Notice tone="bad">{error.message}</Notice> : <Standing domain={data} />}
      </Card>
      {data?.verifiedAt === null && (
        <div className="grid gap-6 lg:grid-cols-2">
          <RecordProof domain={data} />
          <FileProof domain={data} />
        </div>
      )}
    </section>
  )
}

function State({ domain }: { domain: Domain }) {
  return domain.verifiedAt ? <Status tone="good">Verified</Status> : <Status tone="waiting">Not verified</Status>
}

const PROOFS = { dns: 'by its DNS record', file: 'by the file on its website', operator: 'by the operator' }

function Standing({ domain }: { domain: Domain | undefined }) {
  if (!domain) return <Skeleton className="h-5 w-64" />
  const name = <code className="font-mono break-all text-ink">{domain.name}</code>
  if (domain.verifiedAt && domain.provenBy) {
    return (
      <p className="text-muted">
        {name} was verified {PROOFS[domain.provenBy]} on {formatTime(domain.verifiedAt)}.
      </p>
    )
  }
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted">
        Show that {name} is yours with one of the two proofs below, then check. After that, the operator activates you.
      </p>
      {domain.seen && (
        <Notice tone="warn">
          DNS record: {domain.seen.record} File: {domain.seen.file}
        </Notice>
      )}
    </div>
  )
}
