import { setTimeout as sleep } from 'node:timers/promises'
import { errorFields } from '../platform/log.ts'
import { EmbedderUnavailable, type Embedder } from '../recommend/embedding/embedder.ts'
import { openEmbedderThread } from '../recommend/embedding/embedder-thread.ts'
import { openLasting } from '../recommend/embedding/lasting-embedder.ts'
import { rememberVectors } from '../recommend/embedding/remembered-vectors.ts'
import { createGates, type Gates } from '../recommend/gates/gates.ts'
import { readHeads } from '../recommend/gates/heads.ts'
import { proofOf, type Proof } from '../recommend/gates/proof.ts'
import { createHintPreviews, type HintPreviews } from '../recommend/preview-hints.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { createRehearsals, type Rehearsals } from './rehearsals.ts'
import { giveWay, type Serving } from './serving-first.ts'
import { startUpkeep, type Upkeep, type UpkeepOptions } from './upkeep.ts'

export interface OpeningOptions extends Omit<UpkeepOptions, 'onReady'> {
  /** Where the index is kept. Nobody else may write there. */
  directory: string
  /** Where the encoder's file is, if it is not there too. */
  encoderDirectory?: string | undefined
  /** How the gates were proven; tests state it. */
  proof?: Proof
  openEmbedder?: (cacheDir: string) => Promise<Embedder>
  /** How long it waits before it tries again to open what an operator may have mended meanwhile. */
  openAgainMs?: number
  serving: Serving
}

/** Everything that a match needs, once it is there. */
export interface Parts {
  embedders: Embedder[]
  gates: Gates
  upkeep: Upkeep
  rehearsals: Rehearsals
  hintPreviews: HintPreviews
}

/**
 * Tries again after a problem that an operator can mend, until it is mended: the message says what to do, and the matcher
 * should not have to be restarted after it. Undefined when there is no hope, or when it is stopped.
 */
export async function openWhenMended(
  options: OpeningOptions,
  signal: AbortSignal,
  onReady: () => void,
  /** Told why it is switched off, and of nothing when it is not any more. */
  say: (why: string | undefined) => void,
): Promise<Parts | undefined> {
  const { proof = proofOf(), openAgainMs = MINUTE_MS } = options
  if (!proof.isProven) say(proof.why ?? 'The gates are not proven.')
  while (proof.isProven && !signal.aborted) {
    try {
      const parts = await openParts(options, signal, onReady, say)
      say(undefined)
      return parts
    } catch (error) {
      say(error instanceof EmbedderUnavailable ? error.message : `It cannot start: ${errorFields(error).error}.`)
    }
    await sleep(openAgainMs, undefined, { signal }).catch(() => {})
  }
  return undefined
}

async function openParts(
  options: OpeningOptions,
  signal: AbortSignal,
  onReady: () => void,
  say: (why: string | undefined) => void,
): Promise<Parts> {
  const { log, encoderDirectory = options.directory, openEmbedder, openAgainMs } = options
  // First: an attempt that fails here, and is repeated every minute, leaves no thread behind.
  const heads = readHeads()
  const onPreparing = () =>
    log.info({ directory: encoderDirectory }, 'the encoder is not prepared, or is damaged, and is built now')
  const open = async () =>
    openEmbedder?.(encoderDirectory) ?? openEmbedderThread(encoderDirectory, undefined, { onPreparing, signal })
  const openInBackground = async () =>
    openEmbedder?.(encoderDirectory) ?? openEmbedderThread(encoderDirectory, undefined, { isBackground: true })
  const embedder = await openLasting(open, {
    onEnded: (error) => say(`Its encoder has ended (${errorFields(error).error}), and is opened again.`),
    onOpenedAgain: () => say(undefined),
    retryAfterMs: openAgainMs,
  })
  const indexing = await openLasting(openInBackground, {
    onEnded: (error) => log.error(errorFields(error), 'the encoder that indexes offers has ended, and is opened again'),
    onOpenedAgain: () => log.info('offers are indexed again'),
    retryAfterMs: openAgainMs,
  }).catch(async (error: unknown) => {
    await embedder.close()
    throw error
  })
  const gates = createGates({ embedder: rememberVectors(embedder), heads })
  return {
    embedders: [embedder, indexing],
    gates,
    upkeep: startUpkeep(giveWay(indexing, options.serving), { ...options, onReady }),
    rehearsals: createRehearsals({ openEmbedder: openInBackground, heads }),
    hintPreviews: createHintPreviews({ gates, embedder }),
  }
}

export async function closeParts({ rehearsals, upkeep, embedders }: Parts): Promise<void> {
  await rehearsals.stop()
  await upkeep.stop()
  await Promise.all(embedders.map((embedder) => embedder.close()))
}
