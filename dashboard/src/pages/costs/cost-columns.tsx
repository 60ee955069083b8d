import type { Reply } from '../../api.ts'
import type { CallFilters } from '../../calls-address.ts'
import type { Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { FigureLink, type Target } from '../../components/link.tsx'
import { Swatch } from '../../components/swatch.tsx'
import { decimalsOf, exactDecimalsOf } from '../../formats.ts'
import { TOKEN_CLASSES } from '../../token-classes.ts'
import { Count } from '../usage/count.tsx'
import { UnitPrice } from './unit-price.tsx'

export type Costs = Reply<'GET /api/projects/:project/costs'>
export type Price = Costs['prices'][number]
type ModelCosts = Costs['models'][number]

export function modelColumns(
  costs: Costs | undefined,
  colours: Map<string, string>,
  leadTo: (model: string) => Target,
): Column<ModelCosts>[] {
  const { models = [], total } = costs ?? {}
  const decimals = total && decimalsOf([total, ...models].map(({ chargedNanos }) => chargedNanos))
  const perCall = decimalsOf(models.map(({ averageNanos }) => averageNanos ?? '0'))
  return [
    { label: 'Model', isTitle: true, cell: ({ model }) => <ModelName model={model} colours={colours} /> },
    {
      label: 'Calls',
      align: 'right',
      cell: ({ model, calls }) => (
        <FigureLink {...leadTo(model)} of={`calls of ${model}`}>
          <Count of={calls} />
        </FigureLink>
      ),
      total: costs && <Count of={models.reduce((sum, { calls }) => sum + calls, 0)} />,
    },
    ...TOKEN_CLASSES.map(([name, label]): Column<ModelCosts> => {
      const fixed = decimalsOf([...models, ...(total ? [total] : [])].map(({ classes }) => classes[name].nanos))
      const cost = (spent: ModelCosts['classes'][typeof name]) =>
        spent.tokens === 0 ? <Nothing /> : <ClassCost {...spent} decimals={fixed} />
      return {
        label,
        align: 'right',
        cell: ({ classes }) => cost(classes[name]),
        total: total && cost(total.classes[name]),
      }
    }),
    {
      label: 'Per call',
      align: 'right',
      cell: ({ averageNanos }) =>
        averageNanos === null ? <Nothing /> : <Money nanos={averageNanos} decimals={perCall} />,
      total:
        costs && (costs.averageNanos === null ? <Nothing /> : <Money nanos={costs.averageNanos} decimals={perCall} />),
    },
    {
      label: 'Spend',
      align: 'right',
      cell: ({ chargedNanos }) => <Money nanos={chargedNanos} decimals={decimals} className="font-medium" />,
      total: total && <Money nanos={total.chargedNanos} decimals={decimals} />,
    },
  ]
}

function ModelName({ model, colours }: { model: string; colours: Map<string, string> }) {
  return (
    <span className="flex items-center gap-2">
      <Swatch colour={colours.get(model) ?? 'var(--chart-6)'} />
      <span className="truncate">{model}</span>
    </span>
  )
}

function ClassCost({ tokens, nanos, decimals }: { tokens: number; nanos: string; decimals: number }) {
  return (
    <span className="block">
      <Money nanos={nanos} decimals={decimals} />
      <span className="block text-xs font-normal text-muted">
        <Tokens count={tokens} />
      </span>
    </span>
  )
}

export function priceColumns(
  prices: readonly Price[],
  colours: Map<string, string>,
  leadTo: (filters: CallFilters) => Target,
): Column<Price>[] {
  const spent = prices.reduce((sum, { chargedNanos }) => sum + BigInt(chargedNanos), 0n)
  const decimals = decimalsOf([spent, ...prices.map(({ chargedNanos }) => chargedNanos)])
  return [
    { label: 'Model', isTitle: true, cell: ({ model }) => <ModelName model={model} colours={colours} /> },
    { label: 'In effect from', cell: ({ effectiveFrom }) => <Time iso={effectiveFrom} /> },
    ...TOKEN_CLASSES.map(([name, label]): Column<Price> => {
      const fixed = exactDecimalsOf(prices.map(({ price }) => price[name]))
      return { label, align: 'right', cell: ({ price }) => <UnitPrice nanos={price[name]} decimals={fixed} /> }
    }),
    {
      label: 'Calls',
      align: 'right',
      cell: ({ model, version, calls }) => (
        <FigureLink {...leadTo({ model, price: version })} of={`calls of ${model} at this price`}>
          <Count of={calls} />
        </FigureLink>
      ),
      total: <Count of={prices.reduce((sum, { calls }) => sum + calls, 0)} />,
    },
    {
      label: 'Spend',
      align: 'right',
      cell: ({ chargedNanos }) => <Money nanos={chargedNanos} decimals={decimals} />,
      total: <Money nanos={String(spent)} decimals={decimals} />,
    },
  ]
}
