import { escapeHtml } from '../../rules/html.ts'
import type { Availability, Incident, Rates } from '../../rules/upstreams/availability.ts'
import type { Status, SubjectStatus } from './status.ts'
import type { Template } from './template.ts'

const WORDS: Record<Availability, string> = {
  up: 'Answering',
  degraded: 'Failing at times',
  down: 'Not answering',
  few: 'Too few calls to tell',
  unknown: 'Not measured',
}
const OVERALL: Record<Availability, string> = {
  up: 'Models are answering',
  degraded: 'Some models are failing at times',
  down: 'Some models are not answering',
  few: 'There were too few calls in the last hour to tell',
  unknown: 'Nothing was measured in the last five minutes',
}
const NONE = '<span class="none">–</span>'
const BAR = 3
const STEP = 4
const HEIGHT = 20
const DAYS_MIN = 30

export function statusPage(
  template: Template,
  { overall, measuredUntil, models, providers, incidents }: Status,
): string {
  const until = measuredUntil === undefined ? '' : ` <span>· measured until ${momentOf(measuredUntil)}</span>`
  return template({
    overall: `<p class="overall"><strong class="tone ${overall}">${OVERALL[overall]}</strong>${until}</p>`,
    subjects: tableOf('Models', models) + (providers.length > 0 ? tableOf('Providers', providers) : ''),
    incidents: incidentsOf(incidents),
  })
}

function tableOf(title: string, subjects: readonly SubjectStatus[]): string {
  const isTimed = subjects.some(({ kind }) => kind === 'model')
  const heads = [
    '<th scope="col">Name</th><th scope="col">Now</th>',
    '<th scope="col" class="number">Failed, 1 h</th><th scope="col" class="number">Failed, 24 h</th>',
    isTimed
      ? '<th scope="col" class="number">First token, 1 h</th><th scope="col" class="number">First token, 24 h</th>'
      : '',
    `<th scope="col">Last ${Math.max(...subjects.map(({ days }) => days.length), 1)} days</th>`,
  ]
  if (subjects.length === 0)
    return `<section class="measured"><h2>${title}</h2><p class="small">No model can be called yet.</p></section>`
  return `<section class="measured"><h2>${title}</h2><table class="subjects"><thead><tr>${heads.join('')}</tr></thead><tbody>${subjects
    .map((subject) => rowOf(subject, isTimed))
    .join('')}</tbody></table></section>`
}

function rowOf({ name, availability, hour, day, days }: SubjectStatus, isTimed: boolean): string {
  const times = [cell('First token, 1 h', timesOf(hour)), cell('First token, 24 h', timesOf(day))]
  return `<tr><th scope="row" class="name">${escapeHtml(name)}</th>
    <td data-label="Now"><span class="tone ${availability}">${WORDS[availability]}</span></td>
    ${cell('Failed, 1 h', percentOf(hour.failureRate))}${cell('Failed, 24 h', percentOf(day.failureRate))}
    ${isTimed ? times.join('') : ''}<td>${barOf(days)}</td></tr>`
}

function cell(label: string, value: string): string {
  return `<td class="number" data-label="${label}">${value}</td>`
}

function percentOf(rate: number | null): string {
  if (rate === null) return NONE
  if (rate > 0 && rate < 0.001) return '&lt;0.1%'
  return `${(rate * 100).toFixed(rate === 0 || rate === 1 ? 0 : 1)}%`
}

function timesOf({ firstTokenMs }: Rates): string {
  return firstTokenMs === null ? NONE : `${secondsOf(firstTokenMs.p50)} / ${secondsOf(firstTokenMs.p95)}`
}

function secondsOf(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
}

/** The newest day is at the right, also in the first weeks. Days without trouble are one path: most of them are. */
function barOf(days: SubjectStatus['days']): string {
  const shown = Math.max(days.length, DAYS_MIN)
  const shift = shown - days.length
  const at = (n: number) => (shift + n) * STEP
  const quiet = (['up', 'few'] as const).map((kind) => {
    const bars = days.map((day, n) => (day.availability === kind ? `M${at(n)} 0h${BAR}v${HEIGHT}h-${BAR}z` : ''))
    return bars.join('') === '' ? '' : `<path class="${kind}" d="${bars.join('')}"/>`
  })
  const troubled = days.map(({ at: day, availability, failureRate }, n) =>
    availability === 'degraded' || availability === 'down'
      ? `<rect class="${availability}" x="${at(n)}" width="${BAR}" height="${HEIGHT}"><title>${dayOf(day)}: ${percentOf(failureRate)} failed</title></rect>`
      : '',
  )
  const box = `0 0 ${shown * STEP - 1} ${HEIGHT}`
  return `<svg class="days" viewBox="${box}" preserveAspectRatio="none" role="img" aria-label="${labelOf(days)}">${quiet.join('')}${troubled.join('')}</svg>`
}

/** Says in words what the colours show. */
function labelOf(days: SubjectStatus['days']): string {
  const count = (kind: Availability) => days.filter(({ availability }) => availability === kind).length
  const troubled = days.filter(({ availability }) => availability === 'degraded' || availability === 'down')
  const parts = [
    `${count('up')} days without trouble`,
    ...troubled.map(({ at, failureRate }) => `${dayOf(at)} with ${percentOf(failureRate)} failed`),
    `${count('few')} with too few calls to tell`,
  ]
  return parts.join(', ')
}

function incidentsOf(incidents: readonly Incident[]): string {
  const items = incidents.map(
    ({ name, from, to, availability, failureRate }) => `<li><h3><span class="tone ${availability}">${
      availability === 'down' ? 'Was not answering' : 'Failed at times'
    }</span>: <span class="name">${escapeHtml(name)}</span></h3>
      <p>${momentOf(from)} to ${to === null ? 'now' : momentOf(to)}, ${percentOf(failureRate)} of calls failed</p></li>`,
  )
  const list = items.length > 0 ? `<ul class="incidents">${items.join('')}</ul>` : '<p class="small">None.</p>'
  return `<section class="measured"><h2>Incidents of the last seven days</h2>${list}</section>`
}

function dayOf(at: Date): string {
  return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

function momentOf(at: Date): string {
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })
  return `${dayOf(at)}, ${time} UTC`
}
