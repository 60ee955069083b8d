import { bodyOf, file, hiddenStrings, image, largeImage, longText, maybeMaxTokens, TOOL, tools } from './bodies.ts'
import { georgian, prose } from './texts.ts'
import type { Behaviour, Kind, Rule } from './trial.ts'
import { THINKING_KINDS } from './thinking-kinds.ts'
import { EMBEDDING_KINDS } from './embedding-kinds.ts'
import { SHORT_TOTAL_MS } from './world.ts'

const READS: Behaviour = { does: 'read' }
const BILLED: Rule = 'billed'
const NOTHING: Rule = 'nothing'
const COUNTED: Rule = 'counted'
const OTHER_FORMATS = ['anthropic', 'gemini', 'vertex', 'bedrock']

const MIDWAY_FAULTS = ['U14-rst', 'U14-eof', 'U12-midstream', 'U7-badjson']
const EARLY_FAULTS = ['U11-500', 'U11-503', 'U12-json', 'U18', 'U16-gzip', 'U17-status']
const LIES = ['U19-negative', 'U19-huge', 'U19-string', 'U19-null']

export const KINDS: readonly Kind[] = [
  ...THINKING_KINDS,
  ...EMBEDDING_KINDS,
  {
    name: 'short',
    weight: 250,
    draw: (random, id) => ({
      body: bodyOf(id, {
        script: `tokens=${random.int(120)} cached=${random.int(12)}`,
        isStream: random.next() < 0.6,
        text: prose(random, 10 + random.int(1_500)),
        more: maybeMaxTokens(random),
      }),
      caller: READS,
      pays: BILLED,
    }),
  },
  {
    name: 'long prompt',
    weight: 50,
    draw: (random, id) => ({
      body: bodyOf(id, { script: 'tokens=5', text: longText(random), isStream: random.next() < 0.5 }),
      caller: READS,
      pays: BILLED,
    }),
  },
  {
    name: 'long prompt, hung up on',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, { script: 'fault=U5', text: longText(random), isStream: random.next() < 0.5 }),
      caller: { does: 'hang up', when: 'asked' },
      pays: COUNTED,
    }),
  },
  {
    // Answered only if the credit pays for the whole prompt, which the hold must know before anything is sent.
    name: 'long prompt, little credit',
    weight: 10,
    draw: (random, id) => ({
      body: bodyOf(id, { script: 'tokens=5', text: longText(random), more: { max_tokens: 5 }, isStream: true }),
      caller: READS,
      pays: BILLED,
      funds: BigInt(1_000_000 * (1 + random.int(60))),
    }),
  },
  {
    name: 'beyond the context window',
    weight: 10,
    draw: (random, id) => ({
      body: bodyOf(id, { model: 'narrow', script: 'tokens=5', text: prose(random, 20_000 + random.int(80_000)) }),
      caller: READS,
      pays: NOTHING,
    }),
  },
  {
    name: 'long strings elsewhere',
    weight: 50,
    draw: (random, id) => {
      const isLeft = random.next() < 0.4
      return {
        body: bodyOf(id, { script: isLeft ? 'fault=U5' : 'tokens=9', before: hiddenStrings(random), isStream: true }),
        caller: isLeft ? { does: 'hang up', when: 'asked' } : READS,
        pays: isLeft ? COUNTED : BILLED,
      }
    },
  },
  {
    name: 'images and files',
    weight: 60,
    draw: (random, id) => {
      const images = Array.from({ length: random.int(4) }, () => image(random))
      const files = Array.from({ length: images.length === 0 ? 1 : random.int(2) }, () => file(random))
      const isLeft = random.next() < 0.3
      return {
        body: bodyOf(id, {
          script: 'tokens=9 ttft=70 gap=2',
          parts: [...images, ...files],
          isStream: random.next() < 0.6,
        }),
        caller: isLeft ? { does: 'hang up', when: 'asked' } : READS,
        pays: BILLED,
      }
    },
  },
  {
    name: 'images of an unknown size',
    weight: 20,
    draw: (random, id) => {
      const isLeft = random.next() < 0.3
      return {
        body: bodyOf(id, {
          model: 'unsaid',
          script: 'tokens=9 ttft=70 gap=2',
          parts: Array.from({ length: 1 + random.int(3) }, () => largeImage(random)),
          isStream: random.next() < 0.6,
        }),
        caller: isLeft ? { does: 'hang up', when: 'asked' } : READS,
        pays: BILLED,
      }
    },
  },
  {
    name: 'tools',
    weight: 50,
    draw: (random, id) => ({
      body: bodyOf(id, {
        script: random.next() < 0.6 ? 'tool=look_up' : 'tokens=20',
        more: { tools: tools(random) },
        isStream: random.next() < 0.6,
      }),
      caller: READS,
      pays: BILLED,
    }),
  },
  {
    name: 'more than 128 calls',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: random.pick(['plain', 'plain', 'anthropic', 'gemini']),
        script: `tool=look_up calls=${random.pick([128, 129, 130, 300])} chunk=9`,
        more: { tools: [TOOL] },
        isStream: random.next() < 0.7,
      }),
      caller: READS,
      pays: BILLED,
    }),
  },
  {
    name: 'another tokenizer',
    weight: 30,
    draw: (random, id) => {
      const isLeft = random.next() < 0.5
      const said = encodeURIComponent(georgian(random, 60))
      return {
        body: bodyOf(id, {
          model: 'foreign',
          // Slow, or much of it would be on its way before its caller is known to be gone.
          script: `factor=4 text=${said} ${isLeft ? 'ttft=400 gap=200' : ''}`,
          text: georgian(random, 1_000),
          isStream: random.next() < 0.6,
        }),
        caller: isLeft ? { does: 'hang up', when: 'asked' } : READS,
        pays: isLeft ? COUNTED : BILLED,
      }
    },
  },
  {
    name: 'longer than the catalogue says',
    weight: 10,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: 'understated',
        script: `tokens=${200 + random.int(400)}`,
        isStream: random.next() < 0.5,
      }),
      caller: READS,
      pays: BILLED,
    }),
  },
  {
    name: 'hung up half sent',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, { script: 'tokens=50', text: prose(random, 3_000), isStream: random.next() < 0.5 }),
      caller: { does: 'hang up', when: 'half sent' },
      pays: NOTHING,
    }),
  },
  {
    name: 'hung up before a word',
    weight: 60,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: random.pick(['plain', 'plain', ...OTHER_FORMATS]),
        script: 'fault=U5',
        text: prose(random, 10 + random.int(9_000)),
        isStream: random.next() < 0.6,
      }),
      caller: { does: 'hang up', when: 'asked' },
      pays: BILLED,
    }),
  },
  {
    name: 'hung up midway',
    weight: 90,
    draw: (random, id) => {
      const isStream = random.next() < 0.7
      const chunks = 1 + random.int(40)
      return {
        body: bodyOf(id, {
          model: random.pick(['plain', 'plain', 'plain', 'anthropic', 'gemini', 'vertex']),
          script: `tokens=90 fault=U6 after=${chunks}`,
          text: prose(random, 10 + random.int(3_000)),
          isStream,
        }),
        caller: { does: 'hang up', when: isStream ? { chunks } : { generated: chunks } },
        pays: BILLED,
      }
    },
  },
  {
    name: 'hung up on the run',
    weight: 30,
    draw: (random, id) => ({
      body: bodyOf(id, { script: 'tokens=400 gap=3', isStream: true }),
      caller: { does: 'hang up', when: { chunks: 1 + random.int(60) } },
      pays: 'streamed',
    }),
  },
  {
    name: 'hung up at the finish',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, { script: `tokens=${1 + random.int(30)}`, isStream: true }),
      caller: { does: 'hang up', when: 'finish' },
      pays: BILLED,
    }),
  },
  {
    name: 'read slowly',
    weight: 1,
    draw: (_, id) => ({
      // Longer than its route's time limit, because of the reader alone. Sockets take the first five megabytes at once:
      // the breaks come early, so that the rest waits through all of them. The gateway takes them for one, which must be
      // shorter than what it puts up with.
      body: bodyOf(id, { model: 'short-total', script: 'tokens=60000 chunk=2', isStream: true }),
      caller: { does: 'stall', times: 3, afterBytes: 100_000, forMs: 0.4 * SHORT_TOTAL_MS, isLast: false },
      pays: BILLED,
    }),
  },
  {
    name: 'stalled and left',
    weight: 1,
    draw: (_, id) => ({
      body: bodyOf(id, { script: 'tokens=60000 chunk=2', isStream: true }),
      caller: { does: 'stall', times: 1, afterBytes: 200_000, forMs: 15_000, isLast: true },
      pays: BILLED,
    }),
  },
  {
    name: 'stalled until the provider gave up',
    weight: 0.5,
    draw: (_, id) => ({
      body: bodyOf(id, { script: 'tokens=90000 chunk=2 impatient=10000', isStream: true }),
      // Both long enough that on a busy machine, too, it is the caller that the provider gives up on, and not a slow gateway.
      caller: { does: 'stall', times: 1, afterBytes: 200_000, forMs: 25_000, isLast: false },
      pays: 'streamed',
    }),
  },
  {
    name: 'retried under one key',
    weight: 40,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: random.pick(['plain', 'hiding', 'anthropic']),
        script: `tokens=${5 + random.int(30)} ttft=${random.int(60)}`,
        isStream: random.next() < 0.5,
      }),
      caller: { does: 'retry', times: 2 + random.int(3) },
      pays: BILLED,
    }),
  },
  {
    name: 'not reported',
    weight: 30,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: random.pick(['plain', ...OTHER_FORMATS]),
        script: `tokens=${1 + random.int(60)} fault=U13`,
        text: prose(random, 10 + random.int(4_000)),
        isStream: random.next() < 0.5,
      }),
      caller: READS,
      pays: COUNTED,
    }),
  },
  {
    name: 'lied about',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, { script: `tokens=${1 + random.int(60)} fault=${random.pick(LIES)}`, isStream: true }),
      caller: READS,
      pays: COUNTED,
    }),
  },
  {
    name: 'broken by the provider',
    weight: 40,
    draw: (random, id) => {
      const fault = random.pick([...MIDWAY_FAULTS, ...EARLY_FAULTS])
      return {
        body: bodyOf(id, {
          model: 'faulty',
          script: `tokens=30 after=6 fault=${fault}`,
          isStream: random.next() < 0.5,
        }),
        caller: READS,
        pays: NOTHING,
      }
    },
  },
  {
    name: 'almost no credit',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, { script: `tokens=${200 + random.int(900)}`, isStream: random.next() < 0.5 }),
      caller: READS,
      pays: 'funds',
      funds: 200_000n + BigInt(random.int(2_000_000)),
    }),
  },
  {
    name: 'other wire formats',
    weight: 80,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: random.pick(OTHER_FORMATS),
        script: `tokens=${1 + random.int(60)} cached=${random.int(9)}`,
        text: prose(random, 10 + random.int(4_000)),
        isStream: random.next() < 0.6,
      }),
      caller: READS,
      pays: BILLED,
    }),
  },
]
