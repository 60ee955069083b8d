import type { Mutant } from './mutant.ts'

const SEARCH = 'test/integration/message-search.test.ts'

export const PALETTE: Mutant[] = [
  {
    bug: 'a letter that somebody types opens something',
    file: 'dashboard/src/palette/shortcuts.ts',
    from: 'if (isTyping || isCovered) return undefined',
    to: 'if (isCovered) return undefined',
    test: 'dashboard/src/palette/commands.test.ts',
    title: 'no key does anything while somebody types or a dialog is open; / and ? can be switched off',
  },
  {
    bug: 'the palette offers what the role does not allow',
    file: 'dashboard/src/palette/commands.ts',
    from: ' || !mayActAs(place.publisher.role, role)) return []',
    to: ') return []',
    test: 'dashboard/src/palette/commands.test.ts',
    title: 'everybody is offered the pages, actions and projects that are theirs, and no more',
  },
  {
    bug: 'a word that was typed need not fit',
    file: 'dashboard/src/palette/commands.ts',
    from: 'if (match === undefined && !others.some((other) => other.startsWith(word))) return undefined',
    to: 'if (match === undefined && others.length === 0) return undefined',
    test: 'dashboard/src/palette/commands.test.ts',
    title: 'what is typed finds names first, then other words and the publisher; the best group comes first',
  },
  {
    bug: 'a search reads the messages of any project that it is told',
    file: 'functions/search_messages.sql',
    from: "raise exception 'the project is not the one of this transaction' using errcode = 'insufficient_privilege';",
    to: 'null;',
    test: SEARCH,
    title: 'nobody finds what another project or publisher has, by its own words or by its id',
  },
  {
    bug: 'text whose time is over is found until it is erased',
    file: 'functions/search_messages.sql',
    from: ' and m.content_expires_at > now()',
    to: '',
    test: SEARCH,
    title: 'what is deleted, has expired or was never kept is not found, and its words are gone',
  },
  {
    bug: 'the words of erased text stay',
    file: 'functions/keep_message_words.sql',
    from: 'when (new.content is null and old.content is not null)',
    to: 'when (new.content is null and old.content is null)',
    test: SEARCH,
    title: 'what is deleted, has expired or was never kept is not found, and its words are gone',
  },
  {
    bug: 'a word of all tenants is one list',
    file: 'functions/message_word_keys.sql',
    from: 'hashtextextended(word, hashtextextended(project::text, 0))',
    to: 'hashtextextended(word, 0)',
    test: SEARCH,
    title:
      'a search reads what it shows and a row for each block, however many messages there are and whoever else has the word',
  },
]
