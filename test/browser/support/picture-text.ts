/** A picture of a page as lines of text, and what has changed between two of them. */
export interface Picture {
  /** Path and query. */
  address: string
  parts: Record<string, string[]>
}

export function textOf({ address, parts }: Picture): string {
  const told = Object.entries(parts).filter(([, lines]) => lines.length > 0)
  return [address, ...told.map(([name, lines]) => [name, ...lines.map((line) => `  ${line}`)].join('\n'))].join('\n')
}

/** Another page has a picture of its own, so that its beginning is enough. */
const BEGINNING_LINES = 30

export function changeOf(before: Picture, after: Picture): Picture {
  const { asked = [], ...parts } = after.parts
  if (before.address.split('?')[0] !== after.address.split('?')[0]) {
    const { title = [], shown = [] } = parts
    const told = shown.filter((_, n) => isTold(shown, n))
    return { address: `to ${after.address}`, parts: { title, shown: shown.slice(0, BEGINNING_LINES), told, asked } }
  }
  const isCovered = parts.shown?.some((line) => /^- '?(?:dialog|menu)/.test(line)) ?? false
  const changed = Object.entries(parts).map(([name, lines]) => {
    const difference = differenceOf(before.parts[name] ?? [], lines)
    // The page behind a dialog is still there, but nobody can get at it.
    return [name, name === 'shown' && isCovered ? difference.filter((line) => line.startsWith('+')) : difference]
  })
  return { address: after.address, parts: { ...Object.fromEntries(changed), asked } }
}

/** A message, or a few lines of what went wrong. */
function isTold(lines: readonly string[], n: number): boolean {
  return (
    (lines[n]?.startsWith('- status: ') ?? false) ||
    lines.slice(Math.max(0, n - 3), n + 1).some((line) => /^ *- alert/.test(line))
  )
}

/** The lines that went and came, in their order: what is left when the longest common part is taken out. */
export function differenceOf(before: readonly string[], after: readonly string[]): string[] {
  const common = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1))
  const at = (n: number, m: number) => common[n]?.[m] ?? 0
  for (let n = before.length - 1; n >= 0; n -= 1)
    for (let m = after.length - 1; m >= 0; m -= 1)
      common[n]![m] = before[n] === after[m] ? at(n + 1, m + 1) + 1 : Math.max(at(n + 1, m), at(n, m + 1))
  const lines: string[] = []
  for (let n = 0, m = 0; n < before.length || m < after.length;) {
    if (n < before.length && m < after.length && before[n] === after[m]) {
      n += 1
      m += 1
    } else if (m >= after.length || (n < before.length && at(n + 1, m) >= at(n, m + 1))) {
      lines.push(`- ${before[n++]}`)
    } else lines.push(`+ ${after[m++]}`)
  }
  return lines
}
