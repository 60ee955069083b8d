import type { Random } from '../support/random.ts'
import { inputsOf } from './bodies.ts'
import { georgian, prose } from './texts.ts'
import type { Kind } from './trial.ts'

/** Vectors of texts: their prompt is all that they cost. */

function textsOf(random: Random, charactersMax: number): string[] {
  return Array.from({ length: random.int(30) }, () => prose(random, 1 + random.int(charactersMax)) || 'a')
}

const BROKEN = ['U14-rst', 'U14-eof', 'U12-json', 'U11-500', 'U18', 'U16-gzip', 'U19-nan', 'U9-bigjson']
const LIES = ['U13', 'U19-negative', 'U19-huge', 'U19-string', 'U19-null']

export const EMBEDDING_KINDS: readonly Kind[] = [
  {
    name: 'embeddings',
    weight: 60,
    draw: (random, id) => ({
      body: inputsOf(id, { script: 'tokens=0', texts: textsOf(random, 3_000) }),
      caller: { does: 'read' },
      pays: 'billed',
    }),
  },
  {
    name: 'embeddings, not reported',
    weight: 30,
    draw: (random, id) => {
      const isGemini = random.next() < 0.5
      const script = isGemini ? 'tokens=0' : `fault=${random.pick(LIES)}`
      const texts = textsOf(random, isGemini ? 300 : 3_000)
      return {
        body: inputsOf(id, { model: isGemini ? 'vectors-gemini' : 'vectors', script, texts }),
        caller: { does: 'read' },
        pays: 'counted',
      }
    },
  },
  {
    name: 'embeddings, hung up on',
    weight: 20,
    draw: (random, id) => ({
      body: inputsOf(id, { script: 'fault=U5', texts: textsOf(random, 1_000) }),
      caller: { does: 'hang up', when: 'asked' },
      pays: 'counted',
    }),
  },
  {
    name: 'embeddings, retried under one key',
    weight: 15,
    draw: (random, id) => ({
      body: inputsOf(id, { script: `ttft=${random.int(60)}`, texts: textsOf(random, 500) }),
      caller: { does: 'retry', times: 2 + random.int(3) },
      pays: 'billed',
    }),
  },
  {
    name: 'embeddings, broken by the provider',
    weight: 20,
    draw: (random, id) => ({
      body: inputsOf(id, { model: 'vectors-faulty', script: `fault=${random.pick(BROKEN)}` }),
      caller: { does: 'read' },
      pays: 'nothing',
    }),
  },
  {
    name: 'embeddings, little credit',
    weight: 10,
    draw: (random, id) => ({
      body: inputsOf(id, { script: 'tokens=0', texts: textsOf(random, 500) }),
      caller: { does: 'read' },
      pays: 'billed',
      funds: BigInt(100_000 * (1 + random.int(60))),
    }),
  },
  {
    name: 'embeddings, another tokenizer',
    weight: 10,
    draw: (random, id) => ({
      body: inputsOf(id, { script: 'factor=4', texts: [georgian(random, 500)] }),
      caller: { does: 'read' },
      pays: 'billed',
    }),
  },
]
