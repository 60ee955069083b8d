/** The kinds of calls that traffic is made of. Everything random comes from the caller's own seeded generator. */
import { promptTokensOf, tokensIn } from '../../simulator/reply.ts'
import type { Random } from '../support/random.ts'
import type { Question } from './caller.ts'
import { EMBEDDING_MODEL, LIMITED_MODEL, MODEL } from './system.ts'

export interface Plan {
  kind: string
  body:
    | { model: string; messages: object[]; stream?: boolean; max_tokens?: number; stream_options?: object }
    | { model: string; input: string; stream?: undefined }
  /** Asked by way of the Responses API. */
  isResponse: boolean
  hangUp?: Question['hangUp']
  /** Counted the way the provider counts. */
  promptTokens: number
  /** The provider writes no more than this. */
  outputTokensMax: number
}

interface Kind {
  name: string
  weight: number
  plan(random: Random): Script
}

/** The directive for the simulated provider, and the behaviour of the caller. */
interface Script {
  model?: string
  tokens: number
  directive?: string
  stream?: boolean
  maxTokens?: number
  hangUp?: Question['hangUp']
  /** It is a text to be embedded: nothing is written. */
  isEmbedding?: boolean
}

/** Before the first byte, and midway. */
const FAULTS = ['U11-500', 'U12-sse', 'U12-json', 'U12-midstream', 'U14-eof', 'U14-rst', 'U7-badjson']
/** Faults of answers that are one body. */
const VECTOR_FAULTS = ['U11-500', 'U12-json', 'U14-eof', 'U14-rst', 'U19-nan']
/** Answers that are complete although something about them is odd. */
const ODDITIES = ['U13', 'U8', 'U7-comments', 'U14-nodone', 'U15', 'U19-negative']

const between = (random: Random, least: number, most: number) => least + random.int(most - least + 1)

const KINDS: Kind[] = [
  { name: 'json', weight: 6, plan: (r) => ({ tokens: between(r, 1, 60), directive: `gap=${r.int(4)}` }) },
  {
    name: 'stream',
    weight: 6,
    plan: (r) => ({ tokens: between(r, 1, 80), directive: `gap=${r.int(15)}`, stream: true }),
  },
  {
    name: 'long stream',
    weight: 2,
    plan: (r) => ({ tokens: between(r, 60, 140), directive: `gap=${between(r, 30, 60)}`, stream: true }),
  },
  {
    // Longer than what is held for an answer at first, so the hold must grow on the way.
    name: 'growing',
    weight: 1,
    plan: (r) => ({ tokens: between(r, 260, 600), directive: 'gap=2 chunk=1', stream: r.int(2) === 0 }),
  },
  {
    name: 'limited',
    weight: 2,
    plan: (r) => ({ tokens: 80, directive: 'gap=1', stream: r.int(2) === 0, maxTokens: between(r, 1, 40) }),
  },
  {
    name: 'hangs up early',
    weight: 1,
    plan: (r) => ({
      tokens: 20,
      directive: 'ttft=300',
      stream: r.int(2) === 0,
      hangUp: { afterMs: between(r, 1, 320) },
    }),
  },
  {
    name: 'hangs up midway',
    weight: 3,
    plan: (r) => ({ tokens: 60, directive: 'gap=10', stream: true, hangUp: { afterEvents: between(r, 1, 62) } }),
  },
  {
    name: 'vectors',
    weight: 2,
    plan: (r) => ({ isEmbedding: true, tokens: 0, directive: `ttft=${r.int(40)}` }),
  },
  {
    name: 'vectors fail',
    weight: 1,
    plan: (r) => ({ isEmbedding: true, tokens: 0, directive: `fault=${r.pick(VECTOR_FAULTS)}` }),
  },
  {
    name: 'vectors are left',
    weight: 1,
    plan: (r) => ({ isEmbedding: true, tokens: 0, directive: 'ttft=300', hangUp: { afterMs: between(r, 1, 320) } }),
  },
  {
    name: 'fails',
    weight: 2,
    plan: (r) => ({
      tokens: between(r, 5, 30),
      directive: `gap=3 fault=${r.pick(FAULTS)} after=${r.int(6)}`,
      stream: r.int(2) === 0,
    }),
  },
  {
    name: 'is limited',
    weight: 1,
    plan: (r) => ({ model: LIMITED_MODEL, tokens: 5, directive: 'fault=U10', stream: r.int(2) === 0 }),
  },
  {
    name: 'odd',
    weight: 1,
    plan: (r) => ({ tokens: between(r, 5, 30), directive: `fault=${r.pick(ODDITIES)}`, stream: r.int(2) === 0 }),
  },
]

const WEIGHTED = KINDS.flatMap((kind) => Array.from({ length: kind.weight }, () => kind))

export function pickPlan(random: Random): Plan {
  const kind = random.pick(WEIGHTED)
  return planOf(kind.name, kind.plan(random), random)
}

/** For a caller that retries: it must be worth retrying, so nothing upstream fails on purpose. */
export function pickKeyedPlan(random: Random): Plan {
  const script = { tokens: between(random, 5, 80), directive: `gap=${random.int(25)}`, stream: random.int(2) === 0 }
  return planOf('keyed', script, random)
}

export function planOf(kind: string, script: Script, random: Random): Plan {
  const content = `Number ${random.int(1_000_000)} [[sim tokens=${script.tokens} ${script.directive ?? ''}]]`
  if (script.isEmbedding) {
    const body = { model: EMBEDDING_MODEL, input: content }
    return { kind, body, isResponse: false, hangUp: script.hangUp, promptTokens: tokensIn(content), outputTokensMax: 0 }
  }
  const wantsUsage = script.stream && random.int(3) > 0
  return {
    kind,
    body: {
      model: script.model ?? MODEL,
      messages: [{ role: 'user', content }],
      ...(script.stream ? { stream: true } : {}),
      ...(script.maxTokens === undefined ? {} : { max_tokens: script.maxTokens }),
      ...(wantsUsage ? { stream_options: { include_usage: true } } : {}),
    },
    isResponse: random.int(4) === 0,
    hangUp: script.hangUp,
    promptTokens: promptTokensOf([content]),
    outputTokensMax: Math.min(script.tokens, script.maxTokens ?? Infinity),
  }
}
