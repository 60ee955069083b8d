import { useState, type ReactNode } from 'react'
import { CopyField } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { Nothing, Time } from '../../components/figures.tsx'
import { formatCountExactly } from '../../formats.ts'
import type { RefusedRequest } from './refused-columns.tsx'

/** Explains a refusal and what to do about it, with everything that was recorded. Undefined closes it. */
export function RefusedDialog({ refused, onClose }: { refused: RefusedRequest | undefined; onClose(): void }) {
  // The content stays there while the dialog closes.
  const [last, setLast] = useState(refused)
  if (refused !== undefined && refused !== last) setLast(refused)
  const shown = refused ?? last
  return (
    <Dialog
      isOpen={refused !== undefined}
      onClose={onClose}
      title={shown === undefined ? 'Refused request' : `${shown.status} ${shown.code}`}
      description={shown?.message}
      size="lg"
    >
      {shown && <Details refused={shown} />}
    </Dialog>
  )
}

function Details({ refused }: { refused: RefusedRequest }) {
  const { explanation, times, firstAt, lastAt } = refused
  return (
    <div className="flex flex-col gap-5">
      {explanation !== null && (
        <dl className="grid gap-3 rounded-lg border border-line bg-sunken p-4 text-sm">
          <Explained label="What it means">{explanation.what}</Explained>
          <Explained label="What to do">{explanation.advice}</Explained>
        </dl>
      )}
      <Facts>
        <Fact label="When">
          <Time iso={lastAt} />
        </Fact>
        {times !== '1' && (
          <Fact label="Stands for">
            {formatCountExactly(times)} requests with this error and this key since <Time iso={firstAt} />
          </Fact>
        )}
        <Fact label="Field">{refused.param === null ? <Nothing /> : <Written text={refused.param} />}</Fact>
        <Fact label="Endpoint">
          <Written text={refused.endpoint} />
        </Fact>
        <Fact label="Model">{refused.model === null ? <Nothing /> : <Written text={refused.model} />}</Fact>
        <Fact label="Key">
          {refused.keyName ?? 'Deleted'}
          {refused.viaSession && ', through a browser session'}
        </Fact>
      </Facts>
      <CopyField text={refused.id} label="the request id" />
    </div>
  )
}

function Explained({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <dt className="font-medium">{label}</dt>
      <dd className="mt-0.5 text-muted">{children}</dd>
    </div>
  )
}

function Written({ text }: { text: string }) {
  return (
    <bdi>
      <code className="font-mono [overflow-wrap:anywhere]">{text}</code>
    </bdi>
  )
}
