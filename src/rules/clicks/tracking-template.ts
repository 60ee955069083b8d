/**
 * An affiliate network counts visits by a redirect of its own. Advertisers know its address with a placeholder for their page
 * as a tracking template, and the placeholder as {lpurl}.
 */
const PLACEHOLDER = '{lpurl}'
const CHARACTERS_MAX = 500

/** Returns what is wrong with a template, for the operator who set it. */
export function trackingTemplateProblemOf(text: string): string | undefined {
  if (text.length > CHARACTERS_MAX) return `It may have at most ${CHARACTERS_MAX} characters.`
  if (text.split(PLACEHOLDER).length !== 2)
    return `It needs ${PLACEHOLDER} exactly once, where the address of the offer goes.`
  const url = URL.parse(text.replace(PLACEHOLDER, 'x'))
  if (url === null || !/^https:\/\/[^/?#]/.test(text)) return 'It must be an address that begins with https://.'
  if (url.username !== '' || url.password !== '') return 'It must not have a user name or a password.'
  if (text.includes('#')) return 'It must not have a fragment, which no server ever sees.'
  // Anywhere else, an offer's address could change where the link leads.
  if (text.indexOf(PLACEHOLDER) < text.indexOf('?') || url.search === '') {
    return `${PLACEHOLDER} must be behind the question mark: https://network.example/click?id=1&url=${PLACEHOLDER}`
  }
  if (/[{}]/.test(text.replace(PLACEHOLDER, ''))) return `The only placeholder is ${PLACEHOLDER}.`
  return undefined
}

/** The offer's address behind the redirect. */
export function withTracking(template: string, link: string): string {
  return new URL(template.replace(PLACEHOLDER, () => encodeURIComponent(link))).href
}

/** Returns the host that a reader's browser asks on the way. */
export function hostOfTracking(template: string): string {
  return new URL(template.replace(PLACEHOLDER, '')).hostname
}
