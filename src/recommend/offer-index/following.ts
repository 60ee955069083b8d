import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorFields, type Log } from '../../platform/log.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { followingPoint, type FollowingPoint } from '../../store/offers/offer-changes.ts'
import type { Embedder } from '../embedding/embedder.ts'
import { createIntake, type Intake } from './intake.ts'
import { createOfferIndex, openOfferIndex, type OfferIndex } from './offer-index.ts'

/**
 * Keeps the index equal to the offers in PostgreSQL, which are the record. What was followed so far is written down beside
 * the index, after the index: a process that is killed between the two does some work again, and loses nothing, because
 * every write replaces by id.
 */
export interface Following {
  /** Undefined until the first build is done, and while a rebuild runs. */
  readonly index: OfferIndex | undefined
  /** Are there offers that wait to be embedded? Then the next round shall come at once. */
  readonly hasBacklog: boolean
  /** One round: opens or builds the index where needed, then takes in what changed. One at a time. */
  follow(): Promise<void>
  /** Resolves when nothing is written any more. */
  close(): Promise<void>
}

export interface FollowingOptions {
  db: Db
  embedder: Embedder
  directory: string
  log: Log
  /** How many offers one statement reads. */
  pageRows?: number
}

/** 166 small writes made searches four times slower until they were folded. */
const WRITES_UNTIL_FOLDED = 16
/** The version of the index's layout: an index of another version is built again. */
const LAYOUT = 1

export function createFollowing({ db, embedder, directory, log, pageRows }: FollowingOptions): Following {
  const intake = createIntake({ db, embedder, pageRows })
  const book = createBook(directory, embedder.modelId)
  let index: OfferIndex | undefined
  const improvement = createImprovement(intake, log)

  async function build(point: FollowingPoint): Promise<OfferIndex> {
    const startedMs = performance.now()
    intake.forgetAll()
    // First of all: half an index must never be taken for a whole one.
    await book.tearOut()
    const built = await createOfferIndex(directory)
    // No row can come twice: what changes while we read moves behind `xmin`, and is taken in after.
    await intake.fill(built, '0', point.xmin)
    await built.finishBuild()
    // Up to the last that there is: a database restored into a younger server has rows from transactions of its future.
    await intake.takeIn(built, point.xmin, point.end)
    // A build leaves many files.
    intake.unfolded = WRITES_UNTIL_FOLDED
    log.info({ offers: await built.count(), tookMs: Math.round(performance.now() - startedMs) }, 'built the index')
    return built
  }

  /** Nothing may run in an index that is closed. */
  async function forget(): Promise<void> {
    await improvement.idle()
    index?.close()
    index = undefined
  }

  return {
    get index() {
      return index
    },
    get hasBacklog() {
      return intake.unembedded > 0
    },
    async follow() {
      const point = await followingPoint(db)
      const since = await book.since(point)
      if (since === undefined) await forget()
      const known = since === undefined ? undefined : (index ?? (await openExisting(directory, log)))
      if (known && since !== undefined) await intake.takeIn(known, since, point.xmax)
      const current = known ?? (await build(point))
      intake.forgetBefore(point.xmin)
      index = current
      await intake.embedSome(current)
      // The backlog is known to this process alone: until it is in, the next process must start from before it.
      await book.note(point, { isKept: intake.unembedded === 0 })
      await improvement.begin(current)
    },
    async close() {
      intake.stop()
      await forget()
    },
  }
}

/**
 * Makes searches faster and changes nothing in them: builds the index of vectors, a minute at 1,000,000 offers, once, and
 * folds, 15 s, now and then. It runs alongside the other work, so that changes are seen in the meantime. The engine lets one
 * of two writers win; after an improvement that lost, the next one has the index for itself.
 */
function createImprovement(intake: Intake, log: Log) {
  let running: Promise<void> | undefined
  let hasLost = false

  async function improve(index: OfferIndex): Promise<void> {
    try {
      await index.indexVectors()
      if (intake.unfolded >= WRITES_UNTIL_FOLDED) {
        await index.optimize()
        intake.unfolded = 0
      }
      hasLost = false
    } catch (error) {
      hasLost = true
      log.info(errorFields(error), 'the index was not improved')
    }
    running = undefined
  }

  return {
    /** Resolves when the next round may come. */
    async begin(index: OfferIndex): Promise<void> {
      running ??= improve(index)
      if (hasLost) await running
    },
    async idle(): Promise<void> {
      await running
    },
  }
}

async function openExisting(directory: string, log: Log): Promise<OfferIndex | undefined> {
  try {
    return await openOfferIndex(directory)
  } catch {
    log.warn({ directory }, 'the index cannot be read and is built again')
    return undefined
  }
}

interface Entry {
  layout: number
  /** When, by the store's clock. A version before this one did not write it. */
  atMs?: number
  identity: string
  model: string
  xmin: string
}

/** How far the index in a directory has followed which database. */
function createBook(directory: string, model: string) {
  const path = join(directory, 'followed.json')
  let entry: Entry | undefined
  return {
    /** Undefined: there is nothing to go on with, or it is too old, or of another database, time, model or layout. */
    async since(point: FollowingPoint): Promise<string | undefined> {
      entry ??= await readEntry(path)
      const isSame = entry?.layout === LAYOUT && entry.identity === point.identity && entry.model === model
      // Offers removed since may have been erased, so that no change tells of them.
      const isTooOld = entry?.atMs !== undefined && point.atMs - entry.atMs > KEPT_MS.removedOffers
      // A server that is behind what we have seen of it was set back.
      return entry && isSame && !isTooOld && BigInt(entry.xmin) <= BigInt(point.xmax) ? entry.xmin : undefined
    },
    async tearOut(): Promise<void> {
      entry = undefined
      await rm(path, { force: true })
      await mkdir(directory, { recursive: true })
    },
    async note({ identity, xmin, atMs }: FollowingPoint, { isKept }: { isKept: boolean }): Promise<void> {
      entry = { layout: LAYOUT, atMs, identity, model, xmin }
      if (!isKept) return
      await writeFile(`${path}.new`, JSON.stringify(entry), { flush: true })
      await rename(`${path}.new`, path)
    },
  }
}

async function readEntry(path: string): Promise<Entry | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Entry
  } catch {
    return undefined
  }
}
