import { Badge } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { CopyField } from '../../components/copy-button.tsx'
import type { Domain } from './domain.ts'

/** A row of label and value. `code` is copied, so it never wraps. */
function Line({ label, text, name }: { label: string; text: string; name: string }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-center gap-x-4 gap-y-1 sm:grid-cols-[6rem_minmax(0,1fr)]">
      <span className="text-sm text-muted">{label}</span>
      <CopyField text={text} label={name} />
    </div>
  )
}

export function RecordProof({ domain: { record } }: { domain: Pick<Domain, 'record'> }) {
  return (
    <Card
      title={
        <>
          Verify with a DNS record <Badge>recommended</Badge>
        </>
      }
      description="Add this TXT record where you manage the DNS of your domain. It changes nothing for your visitors."
    >
      <div className="flex flex-col gap-3">
        <Line label="Type" text="TXT" name="record type" />
        <Line label="Name" text={record.name} name="record name" />
        <Line label="Value" text={record.value} name="record value" />
        <p className="text-sm text-muted">
          Many DNS providers add <span className="font-mono text-ink">.{record.zone}</span> automatically: if yours
          does, enter only <span className="font-mono break-all text-ink">{record.host}</span> as the name. Keep the
          record for as long as the domain is in use here.
        </p>
      </div>
    </Card>
  )
}

export function FileProof({ domain: { file } }: { domain: Pick<Domain, 'file'> }) {
  return (
    <Card
      title="Or with a file on your website"
      description="If you cannot change your DNS: a public text file, served over HTTPS without a redirect, with exactly this content."
    >
      <div className="flex flex-col gap-3">
        <Line label="Address" text={file.url} name="file address" />
        <Line label="Content" text={file.content} name="file content" />
      </div>
    </Card>
  )
}

/** People take the two for one name, and look for the mistake everywhere else. */
export function NamesCard({ domain: { displayName, twin } }: { domain: Domain }) {
  if (twin === null) return null
  return (
    <Card title="With or without www">
      <p className="text-muted">
        <span className="font-mono break-all text-ink">{displayName}</span> and{' '}
        <span className="font-mono break-all text-ink">{twin}</span> are two different names. This project uses the
        first, and only proof for that exact name counts. Which of the two your visitors see makes no difference to
        calls.
      </p>
    </Card>
  )
}
