import type { Column } from '../../components/data-table.tsx'
import { Duration, Money, Tokens } from '../../components/figures.tsx'
import { Swatch } from '../../components/swatch.tsx'
import { decimalsOf, formatShare } from '../../formats.ts'
import { Count } from './count.tsx'
import { GroupLink } from './group-link.tsx'
import type { Usage } from './shown.ts'

type Group = Usage['groups'][number]

export function columnsFor(
  data: Usage | undefined,
  colours: Map<string, string>,
  projectId: string | undefined,
): Column<Group>[] {
  const title = { model: 'Model', key: 'Key', project: 'Project' }[data?.by ?? 'model']
  const totals = data?.totals
  const decimals = data && decimalsOf([data.totals, ...data.groups].map(({ chargedNanos }) => chargedNanos))
  const tokens = (label: string, pick: (group: Pick<Group, 'tokens'>) => number): Column<Group> => ({
    label,
    align: 'right',
    cell: (group) => <Tokens count={pick(group)} />,
    total: totals && <Tokens count={pick(totals)} />,
  })
  return [
    {
      label: title,
      isTitle: true,
      cell: ({ id, label }) => (
        <span className="flex items-center gap-2">
          <Swatch colour={colours.get(id) ?? 'var(--chart-6)'} />
          <span className="truncate">{label}</span>
        </span>
      ),
    },
    {
      label: 'Calls',
      align: 'right',
      cell: ({ id, label, calls }) => (
        <GroupLink usage={data} group={id} projectId={projectId} of={`calls of ${label}`}>
          <Count of={calls} />
        </GroupLink>
      ),
      total: totals && <Count of={totals.calls} />,
    },
    {
      label: 'Failed',
      align: 'right',
      cell: ({ id, label, calls, failed }) => (
        <GroupLink usage={data} group={id} projectId={projectId} of={`of the calls of ${label}`} outcome="failed">
          <span className="tabular">{formatShare(calls === 0 ? 0 : failed / calls)}</span>
        </GroupLink>
      ),
      total: totals && formatShare(totals.calls === 0 ? 0 : totals.failed / totals.calls),
    },
    tokens('Input', ({ tokens: { input, cacheWrite } }) => input + cacheWrite),
    tokens('Cached', ({ tokens: { cachedInput } }) => cachedInput),
    tokens('Output', ({ tokens: { output } }) => output),
    tokens('Reasoning', ({ tokens: { reasoning } }) => reasoning),
    {
      label: 'First token p50',
      align: 'right',
      cell: ({ firstTokenMs }) => <Duration ms={firstTokenMs.p50} />,
      total: totals && <Duration ms={totals.firstTokenMs.p50} />,
    },
    {
      label: 'Duration p95',
      align: 'right',
      cell: ({ durationMs }) => <Duration ms={durationMs.p95} />,
      total: totals && <Duration ms={totals.durationMs.p95} />,
    },
    {
      label: 'Spend',
      align: 'right',
      cell: ({ chargedNanos }) => <Money nanos={chargedNanos} decimals={decimals} />,
      total: totals && <Money nanos={totals.chargedNanos} decimals={decimals} />,
    },
  ]
}
