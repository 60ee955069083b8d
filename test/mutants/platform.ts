import type { Mutant } from './mutant.ts'

export const PLATFORM: Mutant[] = [
  {
    bug: 'a bad item of a batch makes each of its neighbours go alone',
    file: 'src/platform/batch.ts',
    from: 'const middle = Math.ceil(batch.length / 2)',
    to: 'const middle = 1',
    test: 'src/platform/batch.test.ts',
    title: 'a bad item among many is found by halves, in few statements',
  },
  {
    bug: 'what nobody waits for any more is sent all the same',
    file: 'src/platform/batch.ts',
    from: 'if (waiting.isOver) continue',
    to: '',
    test: 'src/platform/batch.test.ts',
    title:
      'an item that stays unanswered while the store fails is given up at its deadline, and its neighbours are not',
  },
  {
    bug: 'after a passing failure the same items go last',
    file: 'src/platform/batch.ts',
    from: ': [...unanswered, ...queue]',
    to: ': [...queue, ...unanswered]',
    test: 'src/platform/batch.test.ts',
    title: 'after a passing failure the same items go again, first in line',
  },
  {
    bug: 'a sealed text opens with a part of its authentication tag',
    file: 'src/platform/secrets.ts',
    from: 'createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })',
    to: 'createDecipheriv(CIPHER, key, iv)',
    test: 'src/platform/secrets.test.ts',
    title: 'a sealed text of which something was cut off does not open',
  },
]
