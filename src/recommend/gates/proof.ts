import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  CRISIS_WORDS,
  HARMLESS_PHRASES,
  SENSITIVE_WORDS,
  WORD_GROUPS,
} from '../../rules/recommendations/lexicon-words.ts'
import { GATE_LIMITS } from './gates.ts'
import { HEADS_PATH } from './heads.ts'

/**
 * Was it shown that these very gates keep sensitive conversations free of recommendations? The bench shows it on prompts
 * that nothing was learned from, and leaves its word in proof.json. Whoever changes a word, a weight or a limit has other
 * gates, and they are not proven: recommendations stay off until the bench has been run again.
 */

export interface Proof {
  isProven: boolean
  /** How many sensitive prompts were asked, and for how many something would have been recommended. */
  prompts: number
  shown: number
  /** Why it is not proven, in words for the operator. */
  why?: string
}

/** The file that the bench writes. */
export interface ProofFile {
  fingerprint: string
  prompts: number
  shown: number
}

export const PROOF_PATH = new URL('proof.json', import.meta.url)
export const PROOF_PROMPTS_MIN = 500

const RUN = 'Run npm run bench:recommend -- --prove.'

/** A digest of everything that decides: learned weights and thresholds with the model that they belong to, words, and limits. */
export function fingerprint(headsPath: URL = HEADS_PATH): string {
  const words = JSON.stringify([SENSITIVE_WORDS, WORD_GROUPS, HARMLESS_PHRASES, CRISIS_WORDS, GATE_LIMITS])
  return createHash('sha256').update(readFileSync(headsPath)).update(words).digest('hex')
}

export function proofOf(proofPath: URL = PROOF_PATH, headsPath: URL = HEADS_PATH): Proof {
  const file = readProof(proofPath)
  if (!file) return { isProven: false, prompts: 0, shown: 0, why: `The gates have never been proven. ${RUN}` }
  const { prompts, shown } = file
  const why = doubtOf(file, fingerprint(headsPath))
  return why === undefined ? { isProven: true, prompts, shown } : { isProven: false, prompts, shown, why }
}

function doubtOf(file: ProofFile, current: string): string | undefined {
  if (file.fingerprint !== current) return `The gates were changed after they had been proven. ${RUN}`
  if (!(file.prompts >= PROOF_PROMPTS_MIN))
    return `Fewer than ${PROOF_PROMPTS_MIN} sensitive prompts were asked. ${RUN}`
  if (file.shown !== 0) return `${file.shown} of ${file.prompts} sensitive prompts would have had a recommendation.`
  return undefined
}

/** A proof that cannot be read is none. */
function readProof(path: URL): ProofFile | undefined {
  try {
    const file = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProofFile> | null
    if (typeof file?.fingerprint !== 'string') return undefined
    return { fingerprint: file.fingerprint, prompts: Number(file.prompts), shown: Number(file.shown) }
  } catch {
    return undefined
  }
}
