import { readdir } from 'node:fs/promises'
import { isNetworkFile } from '../../rules/clicks/network-file.ts'
import { EARNINGS_PENDING_DAYS } from '../../rules/clicks/earnings.ts'
import { DAY_MS, HOUR_MS } from '../../rules/durations.ts'
import type { Db } from '../../store/database.ts'
import { findAdvertisingDelays } from '../../store/health.ts'
import { listFeeds } from '../../store/offers/feed-schedule.ts'
import { countStoppedOffers } from '../../store/recommendations/reader-reports.ts'
import { verdict, type Finding } from './checks.ts'

/** Workers release earnings and destroy salts every hour. What is left this long after it was due, nobody does. */
const DONE_WITHIN_MS = 3 * HOUR_MS
/** One failure is an oddity of somebody's server. */
const FEED_FAILURES_MANY = 3
const START_WORKER = 'Start a worker, and find the failing job in its log: parley serve worker'

/** Whether what recommendations promise is kept: to publishers, readers and advertisers. */
export async function checkAdvertising(db: Db): Promise<Finding[]> {
  const { clicks, saltDays } = await findAdvertisingDelays(db, EARNINGS_PENDING_DAYS * DAY_MS + DONE_WITHIN_MS)
  const late = [
    ...(clicks > 0n
      ? [verdict('earnings', false, `clicks whose shares should be in wallets: ${clicks}`, START_WORKER)]
      : []),
    ...(saltDays > 0n
      ? [verdict('click networks', false, `days whose networks can still be identified: ${saltDays}`, START_WORKER)]
      : []),
  ]
  return [...late, ...(await checkReports(db)), ...(await checkFeeds(db))]
}

async function checkReports(db: Db): Promise<Finding[]> {
  const offers = await countStoppedOffers(db)
  if (offers === 0n) return []
  const detail = `offers that readers reported, stopped until someone reviews them: ${offers}`
  return [{ check: 'reader reports', state: 'hint', detail, mend: 'Run: parley offers reports' }]
}

/** A failure of a stranger's server is no problem of the installation, until the offers are gone. */
async function checkFeeds(db: Db): Promise<Finding[]> {
  const failing = (await listFeeds(db)).filter(
    ({ source_url, failures, last_fetch }) =>
      source_url !== null && (failures >= FEED_FAILURES_MANY || last_fetch === 'refused'),
  )
  return failing.map(({ advertiser, name, failures, last_fetch, last_error, expires_at }) => ({
    check: `feed ${advertiser}/${name}`,
    state: 'hint',
    detail: `${last_fetch === 'refused' ? 'its last file was refused' : `failed ${failures} times in a row`}: ${last_error?.replace(/\.$/, '') ?? 'for an unknown reason'}`,
    mend: `Its offers are recommended until ${expires_at?.toISOString() ?? 'now'}. Tell the advertiser; "parley feed list" shows all.`,
  }))
}

/** Gateways look there; this machine may not be one of them. */
export async function checkDataCentres(directory: string | undefined): Promise<Finding[]> {
  if (directory === undefined) return []
  const check = 'data centres'
  const mend = 'Put lists of networks there, as docs/clicks.md says, or correct PARLEY_DATA_CENTRE_NETWORKS.'
  const names = await readdir(directory).catch(() => undefined)
  if (names === undefined) return [verdict(check, false, 'the folder cannot be read: their clicks are paid for', mend)]
  const files = names.filter(isNetworkFile).length
  return [
    verdict(check, files > 0, files > 0 ? `lists: ${files}` : 'there are no lists: their clicks are paid for', mend),
  ]
}
