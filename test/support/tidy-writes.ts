import { lineAt, type SourceFile } from './source-tree.ts'
import type { Rule } from './tidy.ts'

/**
 * The writes that a plane may do by itself: to data of its own, which belongs to no tenant, no advertiser and not to the
 * catalogue. All else is done by src/actions, which records who did it.
 */
const OWN_WRITES: Record<string, readonly string[]> = {
  // The life of a call: its hold and charge, its conversation, its answer for a retry, what was recommended in it.
  gateway: [
    'openLedger',
    'noteEndUsers',
    'insertMetadata',
    'countIgnoredFields',
    'addRefusedRequests',
    'ensurePartitions',
    'beat',
    'removeGateway',
    'giveUpKey',
    'giveUpOrphanedKeys',
    'touchKeyPairs',
    'noteKeyRefusal',
    'recordTurn',
    'countTurns',
    'insertRecommendations',
    'setRecommendationStates',
    'addOutcomes',
    'noteSensitive',
    'recordSecrets',
  ],
  // Opening and ending a session, and keeping strangers from guessing.
  console: [
    'deleteSession',
    'deleteSessionOfToken',
    'endPendingSteps',
    'insertChallenge',
    'consumeChallenge',
    'countPasskeyUse',
    'countAttempts',
    'forgetAttempts',
    'forgetOneAttempt',
  ],
  // Jobs by the clock: sweeping, forgetting, adding up, sending, and marks of what was done.
  worker: [
    'addUpAdvertiserDays',
    'expireAdvertiserDays',
    'checkLedger',
    'claimDeliveries',
    'claimDueDomains',
    'claimDueFeeds',
    'claimDueUploads',
    'claimMails',
    'cutMetadata',
    'cutSome',
    'completeHeadlines',
    'ensurePartitions',
    'eraseRemovedOffers',
    'eraseUnusedVectors',
    'expireAnomalies',
    'expireReports',
    'expireUncountedConversions',
    'expireAvailability',
    'expireChances',
    'expireUncountedConversions',
    'expireContent',
    'expireKeys',
    'expireFeedRuns',
    'expireInvitations',
    'expireMails',
    'expireMetadata',
    'expireOfferMonths',
    'expireOutcomes',
    'expireProofs',
    'expireRestraints',
    'expireThrottles',
    'expireUploads',
    'expireUsageHours',
    'destroyClickSalts',
    'failOverdueDeliveries',
    'forgetAlerts',
    'forgetConversations',
    'forgetDeadGateways',
    'forgetDeletedIds',
    'forgetEndUserDays',
    'forgetEndUsers',
    'forgetErasures',
    'forgetEvents',
    'forgetIgnoredFields',
    'forgetLostSums',
    'forgetOldMessages',
    'forgetOldSecrets',
    'forgetRefusedOfDeleted',
    'forgetRefusedRequests',
    'giveUpMail',
    'grantDueTrialCredits',
    'markMailSent',
    'markTold',
    'noteDelivered',
    'noteFailed',
    'noteFetch',
    'noteUpload',
    'noteWithdrawn',
    'postponeUpload',
    'rearmAlerts',
    'rollUpStep',
    'sweepHolds',
    'withdrawOffers',
    'writePublicFigures',
  ],
  matcher: ['addChances', 'beatMatcher', 'removeMatcher'],
  cli: ['checkLedger', 'detachTable', 'migrate', 'recordSecrets', 'sealDay'],
}

const PLANE_FILE = /^src\/(gateway|console|worker|matcher|cli)\//
const WRITES =
  /\b(?:insertInto|updateTable|deleteFrom)\(|\b(?:insert\s+into|delete\s+from|truncate)\b|\bupdate\s+\w+(?:\s+\w)?\s+set\b|\b(?:select|from)\s+(?:ledger_(?!effect)\w+|grant_trial_credit|idempotency_claim|make_partition)\(/i

/** A plane that imports a function of the store which writes somebody's rows goes past src/actions. */
export const writesThroughActions: Rule = (files) =>
  importedWriters(files).flatMap(({ file, line, plane, name }) => {
    if (OWN_WRITES[plane]?.includes(name)) return []
    return [
      `${file}:${line} imports ${name}, which writes: only src/actions changes what is somebody's, and says who did it (or, if it is nobody's, list it in test/support/tidy-writes.ts)`,
    ]
  })

/** Writes that a plane is allowed and does not do. */
export function unusedAllowances(files: SourceFile[]): string[] {
  const used = new Set(importedWriters(files).map(({ plane, name }) => `${plane} ${name}`))
  return Object.entries(OWN_WRITES)
    .flatMap(([plane, names]) => names.map((name) => `${plane} ${name}`))
    .filter((allowance) => !used.has(allowance))
}

function importedWriters(files: SourceFile[]) {
  const writers = writersOf(files.filter((file) => file.path.startsWith('src/store/') && !isTest(file)))
  return files.flatMap((file) => {
    const plane = PLANE_FILE.exec(file.path)?.[1]
    if (plane === undefined || isTest(file)) return []
    return file.imports.flatMap(({ target, offset }) => {
      const written = target === undefined ? undefined : writers.get(target)
      if (written === undefined) return []
      const line = lineAt(file.text, offset)
      const names = importedNames(file, offset, written).filter((name) => written.has(name))
      return names.map((name) => ({ file: file.path, line, plane, name }))
    })
  })
}

function isTest({ path }: SourceFile): boolean {
  return path.endsWith('.test.ts')
}

/** The functions of each file that write, by themselves or through others. */
function writersOf(files: SourceFile[]): Map<string, Set<string>> {
  const functions = files.flatMap((file) => functionsOf(file).map((found) => Object.assign(found, { path: file.path })))
  const writers = new Set(functions.filter(({ body }) => WRITES.test(body)).map(({ name }) => name))
  for (let before = -1; before !== writers.size;) {
    before = writers.size
    const calls = new RegExp(`\\b(?:${[...writers].join('|') || '(?!)'})\\(`)
    for (const { name, body } of functions) if (calls.test(body)) writers.add(name)
  }
  return new Map(
    files.map(({ path }) => [
      path,
      new Set(functions.filter((found) => found.path === path && writers.has(found.name)).map(({ name }) => name)),
    ]),
  )
}

/** Relies on the formatter: a declaration begins its line, and the next one ends it. */
function functionsOf({ text }: SourceFile): { name: string; body: string }[] {
  const starts = [...text.matchAll(/^(?:export )?(?:async )?function\*? (\w+)/gm)]
  return starts.map((start, n) => {
    const body = text.slice(start.index + start[0].length, starts[n + 1]?.index)
    return { name: String(start[1]), body }
  })
}

function importedNames({ text }: SourceFile, offset: number, all: ReadonlySet<string>): string[] {
  const clause = /\bimport\s+(type\s+)?([^'"]*?)\s+from\s*['"]$/.exec(text.slice(0, offset))
  if (!clause || clause[1] !== undefined) return []
  const list = String(clause[2]).slice(String(clause[2]).lastIndexOf('import') + 1)
  if (list.includes('*')) return [...all]
  return list
    .replaceAll(/[{}]/g, '')
    .split(',')
    .map((name) => name.trim().split(/\s+as\s+/)[0] ?? '')
}
