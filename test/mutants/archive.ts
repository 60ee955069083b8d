import type { Mutant } from './mutant.ts'

/** Old days, old programs, and how the whole ledger is read. */

const ARCHIVE = 'test/integration/archive.test.ts'
const NEWER = 'test/integration/migrate-newer.test.ts'

export const ARCHIVING: readonly Mutant[] = [
  {
    bug: 'the sums of archived days are left out of the full check',
    file: 'src/store/billing/ledger-check/full.ts',
    from: 'if (!charges) addCharges(entries',
    to: 'if (charges) addCharges(entries',
    test: ARCHIVE,
    title: 'old days are sealed and detached while the ledger is checked again and again: it is sound all the time',
    isStory: true,
  },
  {
    bug: 'a day that is archived while the full check reads it ends the check',
    file: 'src/store/billing/ledger-check/full.ts',
    from: "const UNDEFINED_TABLE = '42P01'",
    to: "const UNDEFINED_TABLE = '42P00'",
    test: ARCHIVE,
    title:
      'a day that goes away under a full check counts by its seal; a command that died halfway is finished by the next',
    isStory: true,
  },
  {
    bug: 'rows that differ from their seal are not reported',
    file: 'src/store/billing/sealed-days.ts',
    from: 'if (details.length === 0) return []',
    to: 'if (details.length >= 0) return []',
    test: ARCHIVE,
    title: 'a day that is sealed and still there is compared with its seal',
    isStory: true,
  },
  {
    bug: 'a late charge of an archived call is believed whenever it was made',
    file: 'src/store/billing/ledger-check/entries.ts',
    from: '(select t.created_at <= s.archived_at and t.reference',
    to: '(select t.reference',
    test: ARCHIVE,
    title:
      'what was sealed is part of the ledger: changed or missing, it is noticed; and so is a late charge that came after',
    isStory: true,
  },
  {
    bug: 'a day is sealed although its charges and its calls differ',
    file: 'src/store/archive.ts',
    from: '!isSound || (!sealed && seal.fingerprint !== callsFingerprint)',
    to: '!isSound',
    test: ARCHIVE,
    title:
      'a day is not archived before its usage is summed up, while a call of it holds credit, or when it is not sound',
  },
  {
    bug: 'a day of which a call still holds credit is archived',
    file: 'src/store/archive.ts',
    from: '!state || state.has_holds',
    to: '!state',
    test: ARCHIVE,
    title:
      'a day is not archived before its usage is summed up, while a call of it holds credit, or when it is not sound',
  },
  {
    bug: 'charges are detached without a seal',
    file: 'src/store/archive.ts',
    from: 'if (rows.length !== 1) throw',
    to: 'if (rows.length > 1) throw',
    test: ARCHIVE,
    title: 'a table that was not sealed is not detached',
    isStory: true,
  },
  {
    bug: 'archiving waits for a long reader, and every call waits behind it',
    file: 'src/store/archive.ts',
    from: 'const LOCK_TIMEOUT_MS = 100',
    to: 'const LOCK_TIMEOUT_MS = 3_000',
    test: ARCHIVE,
    title: 'beside a long reader no call fails or waits long, and the day is detached when the reader has ended',
    isStory: true,
  },
  {
    bug: 'the full check holds one snapshot while it reads everything',
    file: 'src/store/billing/ledger-check/ledger-check.ts',
    from: 'await readAll(reading, first.boundary)',
    to: 'await snapshot(db).execute(async (tx) => (await tx.selectFrom("wallets").select("project_id").execute(), readAll(reading, first.boundary)))',
    test: 'test/integration/audit-snapshots.test.ts',
    title: 'a full check reads everything, and none of its snapshots lasts a third of the time that it takes',
  },
  {
    bug: 'a program that the database has left behind starts all the same',
    file: 'src/store/migrations.ts',
    from: 'oldestProgram > newest)',
    to: 'oldestProgram < newest)',
    test: NEWER,
    title:
      'a program that a newer version leaves behind refuses to start, to migrate and to be well, and says what to do',
    isStory: true,
  },
  {
    bug: 'a program that migrates nothing does not look whether the database has left it behind',
    file: 'src/stores.ts',
    from: '    await stores.close()\n    throw error',
    to: '    await stores.close().catch(() => {})',
    test: NEWER,
    title:
      'a program that a newer version leaves behind refuses to start, to migrate and to be well, and says what to do',
    isStory: true,
  },
]
