import type { ReactNode } from 'react'
import { decimalsOf } from '../formats.ts'
import { Button } from './button.tsx'
import { classes } from './classes.ts'
import { Skeleton } from './skeleton.tsx'
import { ErrorState } from './states.tsx'

export interface Column<T> {
  /** The header; also the label in the card on a phone. */
  label: string
  /** `decimals`: how many all amounts of the column have, where it has `amountOf`. */
  cell(row: T, decimals: number): ReactNode
  /** The nanos of a row in a column of money: their points stand below each other. */
  amountOf?(row: T): string | null
  align?: 'left' | 'right'
  /** A Tailwind width such as `w-40`: fixed columns do not move when rows arrive. */
  width?: string
  /** The first line of the card on a phone: shown large and without its label. */
  isTitle?: boolean
  /** Buttons: no header to the eye, last on the card. A single `menu` stands in the card's corner instead. */
  isActions?: boolean | 'menu'
  /**
   * Where it stands on a phone in a table whose rows take two lines there: left and right in the first, left and right in the
   * second. Once a column has a place, those without one are left out there, and none has a label.
   */
  compact?: 1 | 2 | 3 | 4
  /** The total of all rows, in a row below them. A table has that row if any of its columns has a total. */
  total?: ReactNode
}

export interface DataTableProps<T> {
  /** Says what the rows are, for screen readers. */
  label: string
  columns: Column<T>[]
  /** Undefined while loading. */
  rows: T[] | undefined
  keyOf(row: T): string
  empty: ReactNode
  error?: Error | null
  onRetry?(): void
  hasMore?: boolean
  isLoadingMore?: boolean
  onLoadMore?(): void
  /** Makes the entire row a target; the keyboard reaches the same through a link in the row. */
  onRowClick?(row: T): void
  skeletonRows?: number
  /** A sentence below the rows. It appears with them: what stands below a table by itself would be moved by them. */
  note?: ReactNode
}

/** A table on wide screens, cards on phones: the same rows and cells, laid out by CSS alone. */
export function DataTable<T>(props: DataTableProps<T>) {
  const { rows, error, empty, onRetry, label } = props
  if (error && rows === undefined) {
    return (
      <Frame>
        <ErrorState error={error} {...(onRetry && { onRetry })} />
      </Frame>
    )
  }
  if (rows?.length === 0) return <Frame>{empty}</Frame>
  const decimals = new Map(props.columns.map((column) => [column, decimalsIn(column, rows)]))
  return (
    <Frame>
      <table aria-label={label} aria-busy={rows === undefined} className="w-full border-collapse max-sm:block">
        <thead className="max-sm:sr-only">
          <tr>
            {props.columns.map((column) => (
              <HeaderCell key={column.label} column={column} />
            ))}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          {rows === undefined ? (
            <SkeletonRows {...props} />
          ) : (
            rows.map((row) => <Row key={props.keyOf(row)} row={row} decimals={decimals} {...props} />)
          )}
        </tbody>
        {rows && props.columns.some(({ total }) => total !== undefined) && <Totals columns={props.columns} />}
      </table>
      {props.hasMore && (
        <div className="flex justify-center border-t border-line p-2">
          <Button look="ghost" size="sm" isBusy={props.isLoadingMore ?? false} onClick={props.onLoadMore}>
            Load more
          </Button>
        </div>
      )}
      {props.note && rows && <p className="border-t border-line px-4 py-2.5 text-sm text-muted">{props.note}</p>}
    </Frame>
  )
}

function Frame({ children }: { children: ReactNode }) {
  // `clip` rounds the corners without becoming what the sticky header sticks to.
  return <div className="overflow-x-clip rounded-lg border border-line bg-surface shadow-card">{children}</div>
}

function HeaderCell<T>({ column }: { column: Column<T> }) {
  return (
    <th
      scope="col"
      className={classes(
        'sticky top-0 z-10 h-9 border-b border-line bg-surface px-3 text-xs font-medium whitespace-nowrap text-muted first:rounded-tl-lg first:pl-4 last:rounded-tr-lg last:pr-4',
        column.align === 'right' ? 'text-right' : 'text-left',
        column.width,
      )}
    >
      {column.isActions ? <span className="sr-only">{column.label}</span> : column.label}
    </th>
  )
}

/** A row of the table, or on a phone a card with two columns of numbers. */
const CARD =
  'border-line not-last:border-b max-sm:relative max-sm:grid max-sm:grid-cols-2 max-sm:gap-x-4 max-sm:px-4 max-sm:py-3'

const COMPACT_CARD =
  'border-line not-last:border-b max-sm:grid max-sm:grid-cols-[minmax(0,1fr)_auto] max-sm:items-center max-sm:gap-x-3 max-sm:px-4 max-sm:py-2'

function isCompact<T>(columns: readonly Column<T>[]): boolean {
  return columns.some(({ compact }) => compact !== undefined)
}

type Decimals<T> = ReadonlyMap<Column<T>, number>

function decimalsIn<T>({ amountOf }: Column<T>, rows: readonly T[] = []): number {
  return amountOf ? decimalsOf(rows.map((row) => amountOf(row) ?? '0')) : 2
}

function Row<T>({ row, columns, decimals, onRowClick }: DataTableProps<T> & { row: T; decimals: Decimals<T> }) {
  const isTwoLines = isCompact(columns)
  return (
    <tr
      {...(onRowClick && { onClick: (event) => isControl(event.target) || onRowClick(row) })}
      className={classes(isTwoLines ? COMPACT_CARD : CARD, onRowClick && 'cursor-pointer hover:bg-canvas')}
    >
      {columns.map((column) => (
        <td key={column.label} className={isTwoLines ? compactCellClasses(column) : cellClasses(column, columns)}>
          {!column.isTitle && !column.isActions && !isTwoLines && (
            <span
              aria-hidden
              className={classes('shrink-0 text-muted sm:hidden', isNumber(column) ? 'text-xs' : 'text-sm')}
            >
              {column.label}
            </span>
          )}
          <div className={classes('min-w-0', column.isTitle && 'max-sm:font-medium')}>
            {column.cell(row, decimals.get(column) ?? 2)}
          </div>
        </td>
      ))}
    </tr>
  )
}

/** Its own colour stays inside of the frame's corners. */
const TOTALS =
  'border-t font-medium max-sm:rounded-b-lg max-sm:bg-canvas sm:[&>td]:bg-canvas sm:[&>td:first-child]:rounded-bl-lg sm:[&>td:last-child]:rounded-br-lg'

function Totals<T>({ columns }: { columns: Column<T>[] }) {
  return (
    <tfoot className="max-sm:block">
      <tr className={classes(CARD, TOTALS)}>
        {columns.map((column) => (
          <td key={column.label} className={cellClasses(column, columns)}>
            {!column.isTitle && column.total !== undefined && (
              <span aria-hidden className="shrink-0 text-xs font-normal text-muted sm:hidden">
                {column.label}
              </span>
            )}
            <div className="min-w-0">{column.isTitle ? 'Total' : (column.total ?? <span data-nothing />)}</div>
          </td>
        ))}
      </tr>
    </tfoot>
  )
}

/** Short enough for two in a line. */
function isNumber<T>({ align, isTitle, isActions }: Column<T>): boolean {
  return align === 'right' && !isTitle && !isActions
}

/** The last of an odd number of them has the line for itself. */
function isAlone<T>(column: Column<T>, columns: readonly Column<T>[]): boolean {
  const numbers = columns.filter(isNumber)
  return numbers.length % 2 === 1 && numbers.at(-1) === column
}

function cellClasses<T>(column: Column<T>, columns: readonly Column<T>[]): string {
  const { align, isTitle, isActions } = column
  return classes(
    'h-11 px-3 py-1.5 first:pl-4 last:pr-4',
    'max-sm:flex max-sm:h-auto max-sm:min-h-8 max-sm:items-center max-sm:justify-between max-sm:px-0 max-sm:py-1 max-sm:first:pl-0 max-sm:last:pr-0',
    isNumber(column) && !isAlone(column, columns) ? 'max-sm:gap-1' : 'max-sm:col-span-2 max-sm:gap-4',
    // On a card, a label without a value only takes room.
    'max-sm:has-data-nothing:hidden',
    !isTitle && 'max-sm:text-right',
    isActions && 'max-sm:justify-end',
    isActions === 'menu' && 'max-sm:absolute max-sm:top-2 max-sm:right-2',
    align === 'right' || isActions ? 'text-right [&>div]:sm:ml-auto' : 'text-left',
  )
}

const PLACES = {
  1: 'max-sm:order-1 max-sm:font-medium',
  2: 'max-sm:order-2 max-sm:text-right max-sm:font-medium',
  3: 'max-sm:order-3',
  4: 'max-sm:order-4 max-sm:text-right max-sm:text-sm max-sm:text-muted',
}

function compactCellClasses<T>({ align, compact }: Column<T>): string {
  return classes(
    'h-11 px-3 py-1.5 first:pl-4 last:pr-4',
    'max-sm:block max-sm:h-auto max-sm:min-h-6 max-sm:min-w-0 max-sm:p-0 max-sm:first:pl-0 max-sm:last:pr-0',
    compact === undefined ? 'max-sm:hidden' : PLACES[compact],
    align === 'right' ? 'text-right [&>div]:sm:ml-auto' : 'text-left',
  )
}

/** As many as fit a screen: the page does not grow when the rows arrive. */
function SkeletonRows<T>({ columns, skeletonRows = 8 }: DataTableProps<T>) {
  const isTwoLines = isCompact(columns)
  return Array.from({ length: skeletonRows }, (_, n) => (
    <tr key={n} className={isTwoLines ? COMPACT_CARD : CARD}>
      {columns.map((column) => (
        <td key={column.label} className={isTwoLines ? compactCellClasses(column) : cellClasses(column, columns)}>
          <Skeleton
            className={classes('h-4', column.isTitle ? 'w-32' : 'w-20', column.align === 'right' && 'sm:ml-auto')}
          />
        </td>
      ))}
    </tr>
  ))
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, select, label, [role=menuitem]') !== null
}
