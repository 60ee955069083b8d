/**
 * A sandbox: the project that every publisher gets with its activation, on a name below the operator's own domain, so that a first
 * answer needs no DNS. It is for trying things out: little is allowed, and nothing in it is ever paid for.
 */

export const SANDBOX_NAME = 'Sandbox'

/** The operator's limits that a sandbox begins with; `parley project set` and `parley limits set` change them for one. */
export const SANDBOX_LIMITS = {
  requestsPerMinute: 20,
  concurrentCalls: 2,
  /** $0.50. */
  dayNanos: 500_000_000n,
} as const

/** Without vowels and what is easily misread: nobody is given a word. */
const LABEL_LETTERS = 'bcdfghjkmnpqrstvwxz23456789'
export const LABEL_LENGTH = 12
/** So long may the operator's domain be that a label and its dot still fit before it. */
export const SANDBOX_DOMAIN_CHARACTERS_MAX = 253 - LABEL_LENGTH - 1

/** A name below the operator's domain, of bytes that nobody can guess: 57 bits of them count. */
export function sandboxDomainOf(bytes: Uint8Array, domain: string): string {
  const letters = [...bytes.subarray(0, LABEL_LENGTH)].map((byte) => LABEL_LETTERS[byte % LABEL_LETTERS.length])
  return `${letters.join('')}.${domain}`
}

/** Whether a name, as DNS knows it, is for sandboxes: the operator's domain itself, or anything below it. */
export function isForSandboxes(name: string, sandboxDomain: string | undefined): boolean {
  return sandboxDomain !== undefined && (name === sandboxDomain || name.endsWith(`.${sandboxDomain}`))
}

/** Why something is refused in a sandbox, and the way out. */
export const SANDBOX_REFUSALS = {
  domain: 'A sandbox keeps its domain. Create a project with your own domain instead.',
  domainCheck: 'The domain of a sandbox belongs to the operator of this installation, so there is nothing to check.',
  topUp: 'A sandbox takes no top-ups. Create a project with your own domain, and add credit there.',
  refund: 'Nothing was ever paid in a sandbox, so there is nothing to refund. Use: parley wallet adjust',
  recommendations:
    'Recommendations are never shown in a sandbox: only off and test are possible. Create a project with your own domain to switch them on.',
  floor: 'A sandbox has no floor price. Create a project with your own domain to set one.',
  limits: 'The limits of a sandbox are set by the operator. Create a project with your own domain to set your own.',
} as const
