/**
 * Numbers that people can read. Each format has an exact companion for the tooltip: what is shown may round, what is
 * charged never did. Money comes as decimal strings of nanos (a billionth of a dollar) and stays an integer throughout.
 */
const NANOS_PER_DOLLAR = 1_000_000_000n
const DECIMALS = 9
/** Below a dollar, this many digits after the leading zeros say what a call costs. */
const SIGNIFICANT = 2

/** `$1,234.50`, `$0.42`, `$0.0042`: rounded to two digits below a dollar, but never to nothing. */
export function formatMoney(nanos: string | bigint): string {
  const amount = BigInt(nanos)
  const size = amount < 0n ? -amount : amount
  const sign = amount < 0n ? '−' : ''
  const decimals = size === 0n ? 2 : decimalsFor(size)
  const unit = 10n ** BigInt(DECIMALS - decimals)
  const rounded = (size + unit / 2n) / unit
  const scale = 10n ** BigInt(decimals)
  const fraction = (rounded % scale).toString().padStart(decimals, '0').replace(/0+$/, '').padEnd(2, '0')
  return `${sign}$${grouped(rounded / scale)}.${fraction}`
}

/** Amounts in a column may have this many decimals, even where the largest would need fewer. */
const COLUMN_DECIMALS = 4

/**
 * How many decimals a column of amounts has, so that their points stand below each other: as many as the one that needs most,
 * but no more than four unless even the largest needs more.
 */
export function decimalsOf(amounts: readonly (string | bigint)[]): number {
  const needed = amounts
    .map(BigInt)
    .map((nanos) => (nanos < 0n ? -nanos : nanos))
    .filter((nanos) => nanos > 0n)
    .map(decimalsFor)
  return Math.min(Math.max(2, ...needed), Math.max(COLUMN_DECIMALS, needed.length === 0 ? 0 : Math.min(...needed)))
}

/** The same for prices, of which no digit may be lost. */
export function exactDecimalsOf(amounts: readonly string[]): number {
  const fractions = amounts.map((nanos) => nanos.padStart(DECIMALS, '0').slice(-DECIMALS).replace(/0+$/, ''))
  return Math.max(2, ...fractions.map((digits) => digits.length))
}

/** `$12.0042`, `$0.0400`: with this many decimals. An amount below the last of them is `<$0.0001`, and never nothing. */
export function formatMoneyFixed(nanos: string | bigint, decimals: number): string {
  const amount = BigInt(nanos)
  const size = amount < 0n ? -amount : amount
  const sign = amount < 0n ? '−' : ''
  const unit = 10n ** BigInt(DECIMALS - decimals)
  const scale = 10n ** BigInt(decimals)
  const rounded = (size + unit / 2n) / unit
  const isLess = size > 0n && rounded === 0n
  const shown = isLess ? 1n : rounded
  return `${isLess ? '<' : ''}${sign}$${grouped(shown / scale)}.${(shown % scale).toString().padStart(decimals, '0')}`
}

const NANOS_PER_CENT = NANOS_PER_DOLLAR / 100n

/** `$1,234.50`, `$0.42`, `<$0.01`: whole cents, for prices that stand below each other. What is not free is never `$0.00`. */
export function formatCents(nanos: string | bigint): string {
  const amount = BigInt(nanos)
  if (amount > 0n && amount < NANOS_PER_CENT) return '<$0.01'
  const cents = (amount + NANOS_PER_CENT / 2n) / NANOS_PER_CENT
  return `$${grouped(cents / 100n)}.${(cents % 100n).toString().padStart(2, '0')}`
}

/** `$0.004200000`: all nine decimals, as they were charged. Nothing is `$0.00`, which is as exact. */
export function formatMoneyExactly(nanos: string | bigint): string {
  const amount = BigInt(nanos)
  if (amount === 0n) return '$0.00'
  const size = amount < 0n ? -amount : amount
  const fraction = (size % NANOS_PER_DOLLAR).toString().padStart(DECIMALS, '0')
  return `${amount < 0n ? '−' : ''}$${grouped(size / NANOS_PER_DOLLAR)}.${fraction}`
}

/** `10`, `0.10`, `0.125`: an amount to be typed over. No digit that counts is lost. */
export function plainMoney(nanos: string): string {
  return formatMoneyExactly(nanos)
    .replaceAll(/[$,]/g, '')
    .replace(/(\.\d\d\d*?)0+$/, '$1')
    .replace(/\.00$/, '')
}

/** Reads what a person types into an amount field, such as `25` or `$12.50`; undefined when it is no amount. */
export function parseMoney(text: string): string | undefined {
  const match = /^\$?\s*(\d{1,9})(?:\.(\d{0,9}))?$/.exec(text.trim().replaceAll(',', ''))
  if (!match) return undefined
  return (BigInt(match[1] ?? '0') * NANOS_PER_DOLLAR + BigInt((match[2] ?? '').padEnd(DECIMALS, '0'))).toString()
}

/** `980`, `1,240`, `12.4 K`, `1.2 M`, `3 B`. */
export function formatCount(count: number | string | bigint): string {
  const value = Number(count)
  const size = Math.abs(value)
  // Four digits are read as fast as an abbreviation, and say more.
  if (size < 10_000) return grouped(BigInt(Math.round(value)))
  for (const [unit, suffix] of COUNT_UNITS) {
    // 999,500 would be written "1000 K": it belongs to the next unit already.
    if (size < unit * 999.5) return `${shortened(value / unit)} ${suffix}`
  }
  return `${shortened(value / 1e12)} T`
}

const COUNT_UNITS: [number, string][] = [
  [1e3, 'K'],
  [1e6, 'M'],
  [1e9, 'B'],
]

/** `1 call`, `12.4 K calls`: a number with its noun. What has another plural than an s says it. */
export function formatCounted(count: number | string | bigint, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${Number(count) === 1 ? noun : plural}`
}

export function formatCountExactly(count: number | string | bigint): string {
  return grouped(BigInt(count))
}

/** `0.8 ms`, `340 ms`, `1.24 s`, `2 min 5 s`, `3 h 12 min`. */
export function formatDuration(ms: number): string {
  if (ms < 10) return `${trimmed(ms.toFixed(1))} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_995) return `${trimmed((ms / 1_000).toFixed(ms < 9_995 ? 2 : 1))} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return joined([Math.floor(seconds / 60), 'min'], [seconds % 60, 's'])
  const minutes = Math.round(seconds / 60)
  if (minutes < 24 * 60) return joined([Math.floor(minutes / 60), 'h'], [minutes % 60, 'min'])
  const hours = Math.round(minutes / 60)
  return joined([Math.floor(hours / 24), 'd'], [hours % 24, 'h'])
}

/** `12.4%`; what is not nothing is never shown as `0%`. */
export function formatShare(share: number): string {
  const percent = share * 100
  if (percent > 0 && percent < 0.1) return '<0.1%'
  return `${trimmed(percent.toFixed(1))}%`
}

/** In the reader's zone: `14 Nov 2026, 09:41`. */
export function formatTime(iso: string, zone?: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    ...(zone !== undefined && { timeZone: zone }),
  }).format(new Date(iso))
}

/** A moment among many: `09:41:07` on the day that it is, and `14 Nov, 09:41:07` on another; with the year of another year. */
export function formatMoment(iso: string, nowMs: number, zone?: string): string {
  const [at, now] = [new Date(iso), new Date(nowMs)]
  const timeZone = zone === undefined ? {} : { timeZone: zone }
  const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', ...timeZone }).format(at)
  const [day, today] = [formatDate(at.toISOString(), zone), formatDate(now.toISOString(), zone)]
  if (day === today) return time
  const year = today.slice(today.lastIndexOf(' '))
  return `${day.endsWith(year) ? day.slice(0, -year.length) : day}, ${time}`
}

export function formatDate(iso: string, zone?: string): string {
  const format = {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...(zone !== undefined && { timeZone: zone }),
  } as const
  return new Intl.DateTimeFormat('en-GB', format).format(new Date(iso))
}

/** `2026-11-14 09:41:07.250 UTC` */
export function formatTimeInUtc(iso: string): string {
  return `${new Date(iso).toISOString().replace('T', ' ').replace('Z', '')} UTC`
}

/** `just now`, `4 min ago`, `in 3 h`, `2 d ago`; beyond a month the date says more. */
export function formatAge(iso: string, nowMs: number): string {
  const ms = nowMs - new Date(iso).getTime()
  const seconds = Math.round(Math.abs(ms) / 1_000)
  if (seconds < 10) return 'just now'
  if (seconds >= 30 * 86_400) return formatDate(iso)
  const age = ageOf(seconds)
  return ms < 0 ? `in ${age}` : `${age} ago`
}

function ageOf(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** Cents for amounts that have them; otherwise enough decimals to see two digits. */
function decimalsFor(size: bigint): number {
  if (size >= NANOS_PER_DOLLAR) return 2
  const leadingZeros = DECIMALS - size.toString().length
  return Math.max(2, Math.min(DECIMALS, leadingZeros + SIGNIFICANT))
}

function grouped(value: bigint): string {
  return value.toString().replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

function shortened(value: number): string {
  return trimmed(value.toFixed(Math.abs(value) < 99.95 ? 1 : 0))
}

function trimmed(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

function joined(large: [number, string], small: [number, string]): string {
  return small[0] === 0 ? large.join(' ') : `${large.join(' ')} ${small.join(' ')}`
}
