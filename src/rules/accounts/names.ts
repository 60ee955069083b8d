import { parse } from 'tldts'

/**
 * Names of people, publishers, projects and keys. They stand in mails to people who may not know the writer, so a name must
 * be nothing that a mail program turns into a link: "Parley Billing. Card declined, fix at parley-billing.com".
 */

/** Line breaks, and what turns the direction of text around: a name with them could pass for something else. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

const NAME_CHARS_MAX = 100

/** Why this cannot be a name, as a sentence; undefined: it can. Spaces around it are taken away before. */
export function nameProblemOf(name: string): string | undefined {
  if (name === '') return 'Enter a name.'
  if (name.length > NAME_CHARS_MAX) return `At most ${NAME_CHARS_MAX} characters.`
  return disguiseOf(name)
}

/** Why this could pass for something else than a name. */
function disguiseOf(name: string): string | undefined {
  if (UNPRINTABLE.test(name)) return 'Use only characters that can be seen.'
  return isLinkable(name) ? 'A name cannot contain a web or email address.' : undefined
}

/** The audit log says these of whoever is no person. */
const NO_PERSON = /^(?:operator|parley)$/

/** The same for the name of a person, which stands beside what they did. */
export function personNameProblemOf(name: string): string | undefined {
  return NO_PERSON.test(readAs(name).trim()) ? 'Enter your own name.' : nameProblemOf(name)
}

const ADDRESS_OR_SCHEME = /@|:\/\/|(?<![\p{L}\p{N}])(?:https?|ftp|mailto|tel|sms):|(?<![\p{L}\p{N}])www\./u
const NUMERIC_HOST = /\d{1,3}(?:\.\d{1,3}){3}/
/** A dot between two words, and the word after it. Browsers take the ideographic full stop for a dot, too. */
const DOTTED = /(?<=[\p{L}\p{M}\p{N}_-])[.。]([\p{L}\p{M}\p{N}-]+)/gu

function isLinkable(name: string): boolean {
  const read = readAs(name)
  if (ADDRESS_OR_SCHEME.test(read) || NUMERIC_HOST.test(read)) return true
  return [...read.matchAll(DOTTED)].some(([, word = '']) => isTopLevel(word) || isTopLevel(word.replace(/-.*/, '')))
}

/** To people and mail programs, a full-width letter is a letter, and an invisible character parts no word. */
function readAs(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/\p{DI}/gu, '')
    .toLowerCase()
}

/** Whether somebody can own a domain that ends so: `Node.js` and `J.Crew` are no addresses, `acme.com` is one. */
function isTopLevel(label: string): boolean {
  return parse(`x.${label}`, { validateHostname: false }).isIcann === true
}

const SHOWN_LENGTH_MAX = 40

/** A name inside a sentence of ours: in quotes, cut, and, should it be from before the rule above, without what links. */
export function quoted(name: string): string {
  const harmless =
    disguiseOf(name) === undefined ? name : name.normalize('NFKC').replaceAll(/[^\p{L}\p{M}\p{N}'-]+/gu, ' ')
  const characters = Array.from(harmless.replaceAll(/["“”„«»]/g, "'").trim())
  const cut = characters.slice(0, SHOWN_LENGTH_MAX).join('').trimEnd()
  return `"${cut}${characters.length > SHOWN_LENGTH_MAX ? '…' : ''}"`
}
