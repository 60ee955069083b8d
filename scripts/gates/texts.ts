import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Side } from '../../src/recommend/gates/heads.ts'
import { isTrainingText } from '../training-split.ts'

/** The texts that the gates learn from. */

export interface TrainingText {
  side: Side
  /** The kind of text, "grief" or "travel"; unique together with the side. */
  topic: string
  source: string
  text: string
}

export interface Sample extends TrainingText {
  /** The vector of the whole text first, then those of its windows. */
  vectors: readonly Float32Array[]
}

const SIDES: readonly Side[] = ['sensitive', 'commercial', 'everyday']

/** Our own: the side of a file is the beginning of its name, unless its lines say themselves which side they are on. */
export function readOwnTexts(directory: string): TrainingText[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
  return names.toSorted().flatMap((name) => {
    const lines = readFileSync(join(directory, name), 'utf8').split('\n')
    return lines
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const { side, class: topic, text } = JSON.parse(line) as { side?: Side; class: string; text: string }
        const ofFile = SIDES.find((one) => name.startsWith(one))
        const found = side ?? ofFile
        if (!found) throw new Error(`${name}: a line does not say which side it is on`)
        return { side: found, topic, source: `training/${name}`, text }
      })
  })
}

interface PromptSet {
  sensitive: boolean
  commercial?: boolean
  texts: string[]
}

/** Public prompts (counsel-chat, SimpleSafetyTests, MedQuAD, self-instruct, FastChat, GEM-Bench): their training half. */
export function readPublicTexts(directory: string | undefined): TrainingText[] {
  const path = directory === undefined ? undefined : join(directory, 'prompts.json')
  if (path === undefined || !existsSync(path)) return []
  const sets = JSON.parse(readFileSync(path, 'utf8')) as Record<string, PromptSet>
  return Object.entries(sets).flatMap(([name, set]) => {
    const side = set.sensitive ? 'sensitive' : set.commercial ? 'commercial' : 'everyday'
    return set.texts
      .filter(isTrainingText)
      .map((text): TrainingText => ({ side, topic: name, source: `${name} (training half)`, text }))
  })
}
