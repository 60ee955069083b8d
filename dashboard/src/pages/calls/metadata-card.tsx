import { Card } from '../../components/card.tsx'
import { Link } from '../../components/link.tsx'
import { Nothing } from '../../components/figures.tsx'
import { withVisibleControls } from '../../safe-text.ts'
import type { CallDetail } from './cost-lines.ts'

/** Each value leads to the other calls that have it. */
export function MetadataCard({ call, projectId }: { call: CallDetail; projectId: string }) {
  return (
    <Card
      title="Metadata"
      description="What your app sent with this call. Select a value to see every call that has it."
    >
      <dl className="grid grid-cols-[minmax(0,auto)_minmax(0,1fr)] gap-x-6 gap-y-2 text-sm">
        {call.metadata.map(({ key, value }) => (
          <div key={key} className="contents">
            <dt className="font-mono text-muted [overflow-wrap:anywhere]">{withVisibleControls(key)}</dt>
            <dd className="min-w-0 [overflow-wrap:anywhere]">
              {value === '' ? (
                <Nothing label="empty" />
              ) : (
                <Link to={`/projects/${projectId}/calls`} search={{ metadata_key: key, metadata_value: value }}>
                  {withVisibleControls(value)}
                </Link>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}
