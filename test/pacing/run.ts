/** `npm run pacing`: a day of each pacing, hour by hour, and what they look like in docs/images/pacing.svg. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { formatCredits, parseCredits } from '../../src/rules/money.ts'
import { PACINGS, type Pacing } from '../../src/rules/recommendations/pacing.ts'
import { plannedForHour, simulateDay, trafficAt, type SimulatedDay } from './simulated-day.ts'

const BUDGET = parseCredits('1000')
const PER_SECOND = 5
const TO = join(import.meta.dirname, '../../docs/images/pacing.svg')

const days = PACINGS.map((pacing) => ({
  pacing,
  day: simulateDay({ pacing, budgetNanos: BUDGET, perSecond: PER_SECOND }),
}))
for (const { pacing, day } of days) console.log(lineOf(pacing, day))
await writeFile(TO, chartOf())
console.log(`drawn in ${TO}`)

function lineOf(pacing: Pacing, { spent, spentByHour, serves, clicks, unpaid }: SimulatedDay): string {
  const off = spentByHour.map((hour, n) => Math.abs(Number(hour) / plannedForHour(pacing, BUDGET, n) - 1))
  const worst = pacing === 'even' ? `, at most ${(100 * Math.max(...off)).toFixed(1)} % off the plan of an hour` : ''
  return (
    `${pacing}: ${formatCredits(spent)} of ${formatCredits(BUDGET)}${worst}; ` +
    `${serves} recommendations, ${clicks} clicks, ${unpaid} of them not paid for`
  )
}

/** Draws the spending up to each hour, and how busy the hour was. */
function chartOf(): string {
  const [width, height, left, top] = [640, 300, 56, 24]
  const x = (hour: number) => left + (hour / 24) * (width - left - 100)
  const y = (share: number) => top + (1 - share) * (height - top - 40)
  const pathOf = (shares: number[]) => shares.map((share, n) => `${n === 0 ? 'M' : 'L'}${x(n)} ${y(share)}`).join(' ')
  const colours: Record<Pacing, string> = { even: '#0f766e', asap: '#b45309', front_loaded: '#4f5fb8' }
  const busy = Array.from({ length: 25 }, (_, hour) => trafficAt(hour * 3_600_000) / 4)
  const lines = days.map(({ pacing, day }, n) => {
    const shares = [0]
    for (const hour of day.spentByHour) shares.push((shares.at(-1) ?? 0) + Number(hour) / Number(BUDGET))
    const label = `<text x="${x(24) + 8}" y="${y(1) + 4 + 18 * n}" fill="${colours[pacing]}">${pacing}</text>`
    return `<path d="${pathOf(shares)}" fill="none" stroke="${colours[pacing]}" stroke-width="2"/>${label}`
  })
  const hours = [0, 6, 12, 18, 24].map(
    (hour) => `<text x="${x(hour)}" y="${height - 18}" text-anchor="middle">${hour}:00</text>`,
  )
  const levels = [0, 0.5, 1].map(
    (share) =>
      `<text x="${left - 8}" y="${y(share) + 4}" text-anchor="end">${100 * share} %</text>` +
      `<path d="M${left} ${y(share)} H${x(24)}" stroke="#8888" stroke-width="0.5"/>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#777">`,
    '<title>What each pacing has spent of a daily budget by each hour of a day</title>',
    `<path d="${pathOf(busy)} L${x(24)} ${y(0)} L${x(0)} ${y(0)} Z" fill="#8882"/>`,
    `<text x="${x(17)}" y="${y(0.1)}" text-anchor="middle">traffic</text>`,
    ...levels,
    ...hours,
    ...lines,
    '</svg>\n',
  ].join('\n')
}
