import { setTimeout as sleep } from 'node:timers/promises'
import type { Embedder } from '../recommend/embedding/embedder.ts'
import { shareEmbedders } from '../recommend/embedding/shared-embedders.ts'
import { rememberVectors } from '../recommend/embedding/remembered-vectors.ts'
import { createGates } from '../recommend/gates/gates.ts'
import type { Heads } from '../recommend/gates/heads.ts'
import type { MatchWorld } from '../recommend/match.ts'
import { hasCrisisWords, sensitiveClassOf } from '../rules/recommendations/lexicon.ts'
import { rehearseConversation, type RehearsalWorld } from '../recommend/rehearse-conversation.ts'
import type { RehearsalReply, RehearsalRequest } from '../recommend/rehearsal-wire.ts'
import type {
  BusyReason,
  RehearsalSettings,
  RehearsedConversation,
  Verdict,
} from '../rules/recommendations/rehearsal.ts'

/**
 * Rehearsals beside live replies. They have encoders of their own, in threads that run when nobody else wants the
 * processor, and a memory of their own, so that live conversations are not pushed out of theirs. Nothing of them is
 * written anywhere: what was said is in memory while it is looked at, and gone with the encoders.
 */
export interface Rehearsals {
  /** Rejects with `RehearsalBusy`. What it returns is not whole when `signal` ended it. */
  run(world: Omit<MatchWorld, 'gates'>, request: RehearsalRequest, signal: AbortSignal): Promise<RehearsalReply>
  end(rehearsal: Pick<RehearsalRequest, 'id' | 'projectId'>): void
  stop(): Promise<void>
}

export class RehearsalBusy extends Error {
  readonly reason: BusyReason
  constructor(reason: BusyReason) {
    super(reason)
    this.reason = reason
  }
}

export interface RehearsalsOptions {
  openEmbedder(): Promise<Embedder>
  heads: Heads
  /** How long a rehearsal of which nothing is heard keeps its place. */
  silentMs?: number
  /** How long encoders that have nothing to do are kept. */
  idleMs?: number
}

/** As many as there are encoders: a third would only make two others late. */
const REHEARSALS_MAX = 2
const EMBEDDERS = 2
/** For one request. While one conversation is searched for, others are embedded. */
const CONVERSATIONS_AT_ONCE = 3
const REMEMBERED_MAX = 4_000
const SILENT_MS = 10_000
const IDLE_MS = 60_000
const STOP_WITHIN_MS = 2_000

/** Texts that are embedded together: short ones take half the time so. */
const TOGETHER = 32

interface Opened extends Pick<RehearsalWorld, 'gates' | 'sensitiveFrom'> {
  embedder: Embedder
  close(): Promise<void>
}

export function createRehearsals(options: RehearsalsOptions): Rehearsals {
  const { silentMs = SILENT_MS, idleMs = IDLE_MS } = options
  const places = createPlaces(silentMs)
  let opened: Promise<Opened> | undefined
  let idle: NodeJS.Timeout | undefined
  let running = 0

  async function close(): Promise<void> {
    clearTimeout(idle)
    const parts = opened
    opened = undefined
    await (await parts?.catch(() => undefined))?.close()
  }

  async function withGates<T>(work: (parts: Opened) => Promise<T>): Promise<T> {
    clearTimeout(idle)
    running += 1
    try {
      opened ??= open(options)
      return await work(await opened)
    } catch (error) {
      // Encoders that cannot be opened, or have ended, are opened anew by whoever asks next.
      if (running === 1) await close()
      throw error
    } finally {
      running -= 1
      if (running === 0) idle = setTimeout(() => void close(), idleMs).unref()
    }
  }

  return {
    async run(world, request, signal) {
      const leave = places.enter(request)
      try {
        return await withGates(async ({ embedder, ...parts }) => {
          await embedAhead(embedder, request, signal)
          return rehearse({ ...world, ...parts }, request, signal)
        })
      } finally {
        leave(signal.aborted)
      }
    },
    end: (rehearsal) => places.end(rehearsal),
    async stop() {
      await Promise.race([close(), sleep(STOP_WITHIN_MS, undefined, { ref: false })])
    },
  }
}

async function open({ openEmbedder, heads }: RehearsalsOptions): Promise<Opened> {
  const embedders = await Promise.all(Array.from({ length: EMBEDDERS }, openEmbedder))
  const shared = shareEmbedders(embedders)
  const embedder = rememberVectors(shared, REMEMBERED_MAX)
  const gates = createGates({ embedder, heads, rememberedMax: REMEMBERED_MAX })
  return { embedder, gates, sensitiveFrom: heads.thresholds.sensitive, close: () => shared.close() }
}

/** Embeds the messages that were replied to: most replies are decided by that alone. */
async function embedAhead(
  embedder: Embedder,
  { conversations, settings }: RehearsalRequest,
  signal: AbortSignal,
): Promise<void> {
  const texts = [...new Set(conversations.flatMap((conversation) => textsToEmbed(conversation, settings)))]
  // Texts of about the same length go together, so that little of a run is padding.
  texts.sort((a, b) => a.length - b.length)
  const starts = Array.from({ length: Math.ceil(texts.length / TOGETHER) }, (_, n) => n * TOGETHER).values()
  const work = async () => {
    for (const start of starts) if (!signal.aborted) await embedder.embed(texts.slice(start, start + TOGETHER))
  }
  await Promise.all(Array.from({ length: EMBEDDERS }, work))
}

/** Not of replies that something else decides for certain: a gate, the first turn that may have one, or a sensitive word before. */
function textsToEmbed({ turns, replies }: RehearsedConversation, { firstTurn }: RehearsalSettings): string[] {
  const sensitive = turns.findIndex(({ role, text }) =>
    role === 'user' ? sensitiveClassOf(text) !== undefined : hasCrisisWords(text),
  )
  const end = sensitive === -1 ? turns.length : sensitive
  return replies
    .filter(({ gate, turn, before }) => gate === null && turn >= firstTurn && before <= end)
    .map(({ before }) => turns[before - 1]?.text ?? '')
}

async function rehearse(
  world: RehearsalWorld,
  { conversations, settings }: RehearsalRequest,
  signal: AbortSignal,
): Promise<RehearsalReply> {
  const verdicts: Verdict[][] = conversations.map(() => [])
  const left = conversations.entries()
  const isOver = () => signal.aborted
  const work = async () => {
    for (const [n, conversation] of left) {
      if (isOver()) return
      verdicts[n] = await rehearseConversation(world, conversation, settings, isOver)
    }
  }
  await Promise.all(Array.from({ length: CONVERSATIONS_AT_ONCE }, work))
  return { verdicts }
}

interface Place {
  id: string
  publisherId: string | undefined
  requests: number
  silent?: NodeJS.Timeout
}

/** One for each project and each publisher, and few in all. A rehearsal keeps its place between its requests. */
function createPlaces(silentMs: number) {
  const places = new Map<string, Place>()

  function end({ id, projectId }: Pick<RehearsalRequest, 'id' | 'projectId'>): void {
    const place = places.get(projectId)
    if (place?.id !== id) return
    clearTimeout(place.silent)
    places.delete(projectId)
  }

  return {
    end,
    /** Returns how to leave: for good, or until the next request. */
    enter({ id, projectId, publisherId }: RehearsalRequest): (isGone: boolean) => void {
      const taken = places.get(projectId)
      if (taken && taken.id !== id) throw new RehearsalBusy('project_busy')
      const isTheirs = (other: Place) => publisherId !== undefined && other.publisherId === publisherId
      if (!taken && (places.size >= REHEARSALS_MAX || places.values().some(isTheirs)))
        throw new RehearsalBusy('matcher_busy')
      const place = taken ?? { id, publisherId, requests: 0 }
      places.set(projectId, place)
      clearTimeout(place.silent)
      place.requests += 1
      return (isGone) => {
        place.requests -= 1
        if (place.requests > 0) return
        if (isGone) return end({ id, projectId })
        place.silent = setTimeout(() => end({ id, projectId }), silentMs).unref()
      }
    },
  }
}
