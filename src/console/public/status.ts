import { DAY_MS } from '../../rules/durations.ts'
import {
  availabilityNow,
  availabilityOfDay,
  CURRENT_MS,
  failureRateOf,
  incidentsIn,
  overallOf,
  ratesOf,
  spansAt,
  type Availability,
  type Incident,
  type Measured,
  type Rates,
  type Slot,
  type Subject,
} from '../../rules/upstreams/availability.ts'
import {
  listAvailabilityDays,
  listSlotsInTrouble,
  sumAvailability,
  type SubjectSums,
} from '../../store/billing/availability.ts'
import { findUsageProgress } from '../../store/billing/usage.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import type { Db } from '../../store/database.ts'

/** How models, and where the operator allows it providers, have answered: what the status page and /status.json say. */

const DAYS_SHOWN = 90
const INCIDENT_DAYS = 7
const NOTHING: Measured = { calls: 0, failures: 0, callers: 0n, failedFor: 0n }

/** Counts from the store; over all publishers together, and so not fit to be shown as they are. */
export interface Measurements {
  /** Everything up to here is counted. Null: nothing was ever counted. */
  through: Date | null
  models: string[]
  sums: SubjectSums[]
  days: Slot[]
  slotsInTrouble: Slot[]
}

export interface SubjectStatus extends Subject {
  availability: Availability
  hour: Rates
  day: Rates
  /** One entry for each day since the first that was counted, oldest first; up to 90, today included. */
  days: { at: Date; availability: Availability; failureRate: number | null }[]
}

export interface Status {
  overall: Availability
  /** Undefined: nothing was ever counted. */
  measuredUntil: Date | undefined
  models: SubjectStatus[]
  /** Empty where the operator does not name them. */
  providers: SubjectStatus[]
  incidents: Incident[]
}

export async function measure(db: Db, now: Date): Promise<Measurements> {
  const today = startOfDay(now)
  const [through, models, sums, days, slotsInTrouble] = await Promise.all([
    findUsageProgress(db),
    listServedModels(db),
    sumAvailability(db, spansAt(now)),
    listAvailabilityDays(db, new Date(today - (DAYS_SHOWN - 1) * DAY_MS)),
    listSlotsInTrouble(db, new Date(today - (INCIDENT_DAYS - 1) * DAY_MS)),
  ])
  return { through, models: models.map(({ id }) => id), sums, days, slotsInTrouble }
}

/** Only models that can be called now are named, and providers only where the operator allows it. */
export function statusOf(measurements: Measurements, now: Date, namesProviders: boolean): Status {
  const { through, sums, slotsInTrouble } = measurements
  const isCurrent = through !== null && now.getTime() - through.getTime() <= CURRENT_MS
  const served = new Set(measurements.models)
  const isNamed = ({ kind, name }: Subject) => (kind === 'model' ? served.has(name) : namesProviders)
  const about = (kind: Subject['kind'], name: string) => subjectOf({ kind, name }, measurements, { now, isCurrent })
  const models = measurements.models.map((name) => about('model', name))
  return {
    overall: overallOf(
      models.map(({ availability }) => availability),
      isCurrent,
    ),
    measuredUntil: through ?? undefined,
    models,
    providers: sums.filter((sum) => sum.kind === 'provider' && isNamed(sum)).map(({ name }) => about('provider', name)),
    incidents: incidentsIn(slotsInTrouble.filter(isNamed), now),
  }
}

function subjectOf(
  subject: Subject,
  { sums, days }: Measurements,
  { now, isCurrent }: { now: Date; isCurrent: boolean },
): SubjectStatus {
  const isOwn = ({ kind, name }: Subject) => kind === subject.kind && name === subject.name
  const own = sums.find(isOwn)
  // Measurements from before a standstill say nothing of the hour that has passed since.
  const lately = isCurrent ? own : undefined
  return {
    ...subject,
    availability: isCurrent ? availabilityNow(own?.newest ?? NOTHING, own?.hour ?? NOTHING) : 'unknown',
    hour: ratesOf(lately?.hour ?? NOTHING, lately?.hourFirstTokens ?? []),
    day: ratesOf(own?.day ?? NOTHING, own?.dayFirstTokens ?? []),
    days: daysOf(days.filter(isOwn), firstDayOf(days), now),
  }
}

function daysOf(own: readonly Slot[], first: number | undefined, now: Date): SubjectStatus['days'] {
  const today = startOfDay(now)
  if (first === undefined) return []
  const byDay = new Map(own.map((day) => [day.startsAt.getTime(), day]))
  return Array.from({ length: Math.round((today - first) / DAY_MS) + 1 }, (_, n) => {
    const at = first + n * DAY_MS
    const day = byDay.get(at) ?? NOTHING
    return { at: new Date(at), availability: availabilityOfDay(day), failureRate: failureRateOf(day) }
  })
}

/** The first day that anything was counted on. */
function firstDayOf([first]: readonly Slot[]): number | undefined {
  return first?.startsAt.getTime()
}

function startOfDay(now: Date): number {
  return Math.floor(now.getTime() / DAY_MS) * DAY_MS
}

/** Builds the answer of /status.json. */
export function statusJsonOf(
  { overall, measuredUntil, models, providers, incidents }: Status,
  namesProviders: boolean,
) {
  return {
    availability: overall,
    measured_until: measuredUntil?.toISOString() ?? null,
    models: models.map(subjectJsonOf),
    ...(namesProviders && { providers: providers.map(subjectJsonOf) }),
    incidents: incidents.map(({ kind, name, from, to, availability, failureRate }) => {
      return { [kind]: name, from, to, availability, failure_rate: rounded(failureRate) }
    }),
  }
}

function subjectJsonOf({ kind, name, availability, hour, day, days }: SubjectStatus) {
  const ratesJsonOf = ({ failureRate, firstTokenMs }: Rates) => ({
    failure_rate: rounded(failureRate),
    ...(kind === 'model' && { first_token_ms: firstTokenMs }),
  })
  return {
    id: name,
    availability,
    last_hour: ratesJsonOf(hour),
    last_24_hours: ratesJsonOf(day),
    days: days.map(({ at, availability: of, failureRate }) => {
      return { day: at.toISOString().slice(0, 10), availability: of, failure_rate: rounded(failureRate) }
    }),
  }
}

/** To tenths of a percent: more digits would tell how many calls there were. */
function rounded(rate: number | null): number | null {
  return rate === null ? null : Math.round(rate * 1_000) / 1_000
}
