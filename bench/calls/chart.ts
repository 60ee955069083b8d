/** A picture of the CPU time per call: a panel for each case, a bar for each subject, a line from the least to the most. */
import { HELD_CASE, valuesOf, type Sample } from './bars.ts'
import { spreadOf, type Spread } from './statistics.ts'
import { SUBJECTS, type SubjectName } from './subject.ts'

const WIDTH = 760
const LABELS = 90
const VALUES = 110
const BAR = 18
const GAP = 6
const PANEL_HEAD = 30
const PANEL_GAP = 18
const TOP = 34

/** Each stands out from white and from black. */
const COLOURS: Record<SubjectName, string> = {
  direct: '#8b949e',
  bare: '#8b949e',
  parley: '#2f81f7',
  before: '#a371f7',
  portkey: '#d4813b',
  full: '#3fa37c',
}

/** Text follows the reader's scheme; there is no background, so that of the page shows. */
const STYLE = [
  'text{font:13px system-ui,sans-serif;fill:#1f2328}',
  '.head{font-weight:600}',
  '.quiet{fill:#59636e}',
  'path{stroke:#1f2328;stroke-width:1.5;fill:none}',
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}path{stroke:#e6edf3}}',
].join('')

interface Panel {
  title: string
  bars: { subject: SubjectName; spread: Spread }[]
}

/** SVG, with each case on a scale of its own. `titles` says a case's name in words. */
export function chartOf(samples: readonly Sample[], titles: ReadonlyMap<string, string>): string {
  const panels = panelsOf(samples, titles)
  let y = TOP
  const parts = panels.map((panel) => {
    const drawn = panelAt(panel, y)
    y += PANEL_HEAD + panel.bars.length * (BAR + GAP) + PANEL_GAP
    return drawn
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="CPU time per call">`,
    `<style>${STYLE}</style>`,
    text(0, 16, 'CPU time of the process per call, in ms: less is better', 'head'),
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function panelsOf(samples: readonly Sample[], titles: ReadonlyMap<string, string>): Panel[] {
  const cases = [...new Set(samples.map((sample) => sample.case))].filter((name) => name !== HELD_CASE)
  return cases
    .map((name) => ({
      title: `${name}: ${titles.get(name) ?? ''}`,
      bars: SUBJECTS.flatMap((subject) => {
        const spread = spreadOf([...valuesOf(samples, { case: name, subject, measure: 'cpuMs' }).values()])
        return spread ? [{ subject, spread }] : []
      }),
    }))
    .filter(({ bars }) => bars.length > 0)
}

function panelAt({ title, bars }: Panel, top: number): string {
  const most = Math.max(...bars.map(({ spread }) => spread.max))
  const scale = most > 0 ? (WIDTH - LABELS - VALUES) / most : 0
  const rows = bars.map(({ subject, spread }, n) => {
    const y = top + PANEL_HEAD + n * (BAR + GAP)
    const [left, right] = [LABELS + spread.min * scale, LABELS + spread.max * scale]
    const middle = y + BAR / 2
    return [
      text(LABELS - 8, y + 14, subject, subject === 'parley' ? 'head' : 'quiet', 'end'),
      `<rect x="${LABELS}" y="${y}" width="${round(spread.median * scale)}" height="${BAR}" rx="2" fill="${COLOURS[subject]}"/>`,
      `<path d="M${round(left)} ${middle}H${round(right)}M${round(left)} ${middle - 4}v8M${round(right)} ${middle - 4}v8"/>`,
      text(round(right) + 8, y + 14, spread.median.toFixed(2), ''),
    ].join('')
  })
  return [text(0, top + 16, title, 'head'), ...rows].join('\n')
}

function text(x: number, y: number, words: string, kind: string, anchor = 'start'): string {
  return `<text x="${x}" y="${y}" class="${kind}" text-anchor="${anchor}">${escaped(words)}</text>`
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
