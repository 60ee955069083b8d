import { bodyOf, maybeMaxTokens } from './bodies.ts'
import { prose } from './texts.ts'
import type { Kind } from './trial.ts'
import { HIDDEN_TOKENS_MAX } from './world.ts'

/** Models that think: unseen, seen, not told apart, or although nobody says that they do. */
export const THINKING_KINDS: readonly Kind[] = [
  {
    name: 'hidden reasoning',
    weight: 60,
    draw: (random, id) => {
      const hidden = random.int(HIDDEN_TOKENS_MAX)
      const bound = random.next() < 0.4 ? { max_tokens: 1 + random.int(2 * HIDDEN_TOKENS_MAX) } : {}
      return {
        body: bodyOf(id, {
          model: random.pick(['hiding', 'hiding', 'unsaid', 'hiding-gemini']),
          script: `tokens=${random.int(60)} reasoning=${hidden}`,
          more: bound,
          isStream: random.next() < 0.6,
        }),
        caller: { does: 'read' },
        pays: 'billed',
      }
    },
  },
  {
    name: 'hidden reasoning, hung up on',
    weight: 60,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: 'hiding',
        script: `tokens=8 reasoning=${1 + random.int(HIDDEN_TOKENS_MAX)} ttft=${random.int(120)} gap=4`,
        isStream: true,
        more: maybeMaxTokens(random),
      }),
      caller: { does: 'hang up', when: random.next() < 0.5 ? 'asked' : { chunks: 1 + random.int(4) } },
      pays: 'billed',
    }),
  },
  {
    name: 'thoughts counted as output, hung up on',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: 'untold',
        script: `tokens=8 reasoning=${500 + random.int(HIDDEN_TOKENS_MAX)} untold ttft=${random.int(120)} gap=4`,
        isStream: true,
      }),
      caller: { does: 'hang up', when: random.next() < 0.5 ? 'asked' : { chunks: 1 + random.int(4) } },
      pays: 'billed',
    }),
  },
  {
    name: 'shown reasoning',
    weight: 30,
    draw: (random, id) => ({
      body: bodyOf(id, {
        model: random.pick(['plain', 'anthropic', 'gemini']),
        script: `tokens=12 thoughts=${encodeURIComponent(prose(random, 10 + random.int(600)))}`,
        isStream: random.next() < 0.6,
      }),
      caller: { does: 'read' },
      pays: 'billed',
    }),
  },
  {
    name: 'thoughts of a model without any',
    weight: 20,
    draw: (random, id) => ({
      body: bodyOf(id, {
        script: `tokens=${1 + random.int(9)} reasoning=${1 + random.int(90_000)}`,
        isStream: random.next() < 0.5,
      }),
      caller: { does: 'read' },
      pays: 'no thoughts',
    }),
  },
]
