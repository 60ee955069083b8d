import type { Mutant } from './mutant.ts'

export const PROVIDERS: Mutant[] = [
  {
    bug: 'the counts at the start of an answer replace those at its end',
    file: 'src/providers/anthropic.ts',
    from: 'const counts = { ...atStart, ...atEnd }',
    to: 'const counts = { ...atEnd, ...atStart }',
    test: 'src/providers/anthropic.test.ts',
    title: 'the counts at the end replace those at the start where they are given, and an explicit zero is believed',
  },
  {
    bug: 'whichever choice comes first in an event is read',
    file: 'src/providers/openai-compatible.ts',
    from: 'event.choices?.find((candidate) => (candidate.index ?? 0) === 0)',
    to: 'event.choices?.[0]',
    test: 'src/providers/openai-compatible.test.ts',
    title: 'only the first choice is read',
  },
  {
    bug: 'the prompt tokens of tools are not counted',
    file: 'src/providers/gemini.ts',
    from: ' + countOf(reported.toolUsePromptTokenCount ?? 0) - cachedInput',
    to: ' - cachedInput',
    test: 'test/gemini-streams.test.ts',
    title: 'cached-usage.sse is the same answer in any pieces',
  },
  {
    bug: 'time in which the caller does not read counts as silence of the upstream',
    file: 'src/providers/call-clock.ts',
    from: '      silence.pause(pausedAtMs)\n',
    to: '',
    test: 'src/providers/transport.test.ts',
    title: 'a caller that reads slowly is not taken for an upstream that is silent',
  },
  {
    bug: 'time in which the caller does not read counts towards the total',
    file: 'src/providers/call-clock.ts',
    from: '      total.pause(pausedAtMs)\n',
    to: '',
    test: 'src/providers/transport.test.ts',
    title: "time in which the caller does not read is not the upstream's, also for the total timer",
  },
]
