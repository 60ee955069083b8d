import type { Mutant } from './mutant.ts'

const TURNS = 'src/gateway/conversations/turns.ts'
const STORED = 'test/integration/conversation-turns.test.ts'

/** Turns of conversations on their way into the store. */
export const TURNS_OF_CONVERSATIONS: Mutant[] = [
  {
    bug: 'turns of one conversation wait for each other in the store, each with a connection',
    file: TURNS,
    from: 'before ? before.then(doing) : doing()',
    to: 'doing()',
    test: STORED,
    title: 'of a conversation one turn is written at a time, so that however many there are, others find connections',
  },
  {
    bug: 'an account may write as many turns at a time as all',
    file: TURNS,
    from: 'runningEachMax: 2',
    to: 'runningEachMax: 3',
    test: STORED,
    title: 'an account writes two turns at a time, and all accounts together three',
  },
  {
    bug: 'requests that wait to be stored fill the memory',
    file: TURNS,
    from: 'if (memory.take(call.caller, call.bodyBytes)) return metrics.conversationsDropped.inc()',
    to: 'memory.take(call.caller, call.bodyBytes)',
    test: STORED,
    title: 'requests that wait to be stored take an account’s share of memory and no more',
  },
  {
    bug: 'memory of requests that were stored is never given back',
    file: TURNS,
    from: '.finally(() => memory.give(call.caller, call.bodyBytes))',
    to: '',
    test: STORED,
    title: 'requests that wait to be stored take an account’s share of memory and no more',
  },
  {
    bug: 'what a turn has added is not counted for its project’s day',
    file: TURNS,
    from: 'withBytes(days.get(projectId), bytes, now())',
    to: 'withBytes(days.get(projectId), 0, now())',
    test: STORED,
    title:
      'beyond a project’s day text is not kept, a quarter later turns are only counted, and the next day begins anew',
  },
  {
    bug: 'a history that is sent again counts again',
    file: 'src/store/calls/conversations.ts',
    from: 'from added join sent using (digest, occurrence)',
    to: 'from sent',
    test: STORED,
    title:
      'beyond a project’s day text is not kept, a quarter later turns are only counted, and the next day begins anew',
  },
  {
    bug: 'the bytes of images are kept',
    file: 'src/rules/calls/conversations.ts',
    from: 'message: withoutMedia(message)',
    to: 'message',
    test: STORED,
    title: 'an image is kept as a note of it, its digest is that of what was sent, and it is taken apart in turns',
  },
  {
    bug: 'a message with an image has the digest of what is kept, which no other version knows',
    file: 'src/rules/calls/conversations.ts',
    from: 'const message = asSaid(sent)',
    to: 'const message = withoutMedia(asSaid(sent))',
    test: 'src/rules/inline-media.test.ts',
    title: 'the digest of a message is that of what was sent, so that versions that keep all of it know it again',
  },
  {
    bug: 'thousands of short messages are read at once',
    file: TURNS,
    from: ' && messages.length <= MANY_MESSAGES',
    to: '',
    test: STORED,
    title: 'many messages are read in turns, however short they are, and few at once',
  },
  {
    bug: 'a call that a provider refused keeps what it said',
    file: 'src/gateway/conversations/conversations.ts',
    from: 'isWorkedOn ? said : []',
    to: 'said',
    test: STORED,
    title: 'a call that no provider has worked on is counted, and keeps nothing of what was said',
  },
]
