import { DAY_MS, SECOND_MS } from '../durations.ts'
import { senderOf } from './user-agents.ts'

/**
 * The verdicts on a click on a recommendation. Every click is redirected, whatever its verdict; only a valid one is paid for.
 * This is routine filtration of clicks that are plainly no reader's. It does not find people who set out to deceive.
 */
export const CLICK_VERDICTS = [
  'valid',
  'test',
  'not_delivered',
  'head',
  'prefetch',
  'agent',
  'bot',
  'previewer',
  'not_a_browser',
  'data_centre',
  'same_network',
  'too_fast',
  'too_old',
  'project_closed',
  'too_many',
  'repeat',
  'over_budget',
  'no_credit',
] as const
export type ClickVerdict = (typeof CLICK_VERDICTS)[number]

export interface ClickFacts {
  method: string
  /** Lower-case names, as Node gives them. */
  headers: Record<string, string | string[] | undefined>
  isDataCentre: boolean
  /** It comes from the network of whoever called the API for that answer. Undefined: nobody can tell any more. */
  isCallersNetwork: boolean | undefined
  state: 'delivered' | 'aborted' | 'test'
  /** When the recommendation was handed to the caller. */
  shownAt: Date
  at: Date
}

/** Nobody reads a recommendation and decides in less. */
export const CLICK_AFTER_MS_MIN = SECOND_MS
/** A link in a conversation that is opened again much later is no result of the recommendation. */
export const CLICK_AFTER_MS_MAX = 30 * DAY_MS

/**
 * Judges a click by what is known before the ledger is asked. `valid` means: let the ledger decide (project_closed,
 * too_many, repeat, over_budget, no_credit).
 */
export function judgeClick({
  method,
  headers,
  isDataCentre,
  isCallersNetwork,
  state,
  shownAt,
  at,
}: ClickFacts): ClickVerdict {
  if (state === 'test') return 'test'
  if (state === 'aborted') return 'not_delivered'
  const program = judgeSender({ method, headers, isDataCentre })
  if (program) return program
  if (isCallersNetwork) return 'same_network'
  const afterMs = at.getTime() - shownAt.getTime()
  // Asked this way round, a time that is not known is not paid for either.
  if (!(afterMs >= CLICK_AFTER_MS_MIN)) return 'too_fast'
  // Links could be kept until nobody can tell any more that they are opened where they were asked for.
  return isCallersNetwork === undefined || afterMs > CLICK_AFTER_MS_MAX ? 'too_old' : 'valid'
}

/** Judges a request that shows by itself that no reader sent it. Undefined: it does not show that. */
export function judgeSender({
  method,
  headers,
  isDataCentre,
}: Pick<ClickFacts, 'method' | 'headers' | 'isDataCentre'>): ClickVerdict | undefined {
  if (method === 'HEAD' || method === 'OPTIONS') return 'head'
  if (isPrefetch(headers)) return 'prefetch'
  if (isSignedByAgent(headers)) return 'agent'
  const sender = senderOf(textOf(headers['user-agent']))
  if (sender === 'agent' || sender === 'previewer' || sender === 'bot') return sender
  if (sender !== 'browser' || !saysWhatItTakes(headers)) return 'not_a_browser'
  return isDataCentre ? 'data_centre' : undefined
}

type Headers = ClickFacts['headers']

const PURPOSE_HEADERS = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const
const AHEAD = /prefetch|prerender|preview/i

/**
 * Loaded before anybody opened it, or by a page as a picture, for a script or into a frame: what people open becomes a document.
 * In a frame they are told by Sec-Fetch-User, which is sent when somebody has just clicked.
 */
function isPrefetch(headers: Headers): boolean {
  if (PURPOSE_HEADERS.some((name) => headers[name] !== undefined && AHEAD.test(textOf(headers[name])))) return true
  const destination = textOf(headers['sec-fetch-dest'])
  if (destination === '' || destination === 'document') return false
  return !/^i?frame$/.test(destination) || textOf(headers['sec-fetch-user']) !== '?1'
}

const AGENT_TAG = /;\s*tag\s*=\s*"web-bot-auth"/i

/**
 * HTTP message signatures of automated traffic ("web bot auth"). The signature itself is not checked: nobody gains anything by
 * claiming to be an agent.
 */
function isSignedByAgent(headers: Headers): boolean {
  return headers['signature-agent'] !== undefined || AGENT_TAG.test(textOf(headers['signature-input']))
}

/** Every browser does, and most scripts that copy a browser's user agent forget it. */
function saysWhatItTakes(headers: Headers): boolean {
  return textOf(headers.accept) !== '' || textOf(headers['accept-language']) !== ''
}

function textOf(header: string | string[] | undefined): string {
  return (typeof header === 'string' ? header : (header?.join(', ') ?? '')).trim()
}

/** Plain words for publishers, advertisers and the documentation. */
export const VERDICT_LABELS: Record<ClickVerdict, { label: string; explanation: string }> = {
  valid: { label: 'Valid', explanation: 'A reader’s click. It is the only kind that is paid for.' },
  test: { label: 'Test', explanation: 'The recommendation was made in test mode, which costs and earns nothing.' },
  not_delivered: {
    label: 'Not delivered',
    explanation: 'The reply was cut off before the recommendation had reached the site.',
  },
  head: { label: 'Link check', explanation: 'A program asked whether the link works, without opening it.' },
  prefetch: {
    label: 'Loaded ahead',
    explanation: 'A browser or a page loaded the link in the background, and no one had opened it.',
  },
  agent: {
    label: 'AI agent',
    explanation: 'A program that acts for a person opened it, and says so by its signature or its name.',
  },
  bot: { label: 'Bot', explanation: 'A crawler, a monitor or another program that public lists name opened it.' },
  previewer: { label: 'Link preview', explanation: 'A messenger or a social network fetched it to show a preview.' },
  not_a_browser: {
    label: 'Not a browser',
    explanation: 'It was sent by a script or an app without a browser, or lacks what every browser sends.',
  },
  data_centre: { label: 'Data centre', explanation: 'It came from a network of servers, where readers seldom are.' },
  same_network: {
    label: 'The site’s own network',
    explanation: 'It came from the network that asked for the reply, which is usually the site itself.',
  },
  too_fast: {
    label: 'Too fast',
    explanation: `It came less than ${inSeconds(CLICK_AFTER_MS_MIN)} after the recommendation was handed over.`,
  },
  too_old: {
    label: 'Too old',
    explanation: `It came more than ${CLICK_AFTER_MS_MAX / DAY_MS} days after the recommendation was handed over, or when it could no longer be told whether it came from the site’s own network: after a day or two.`,
  },
  project_closed: {
    label: 'Project closed',
    explanation: 'The project that showed it had been deleted, or its publisher deactivated.',
  },
  too_many: {
    label: 'Too many',
    explanation: 'More than 5 recommendations of one publisher were clicked from one network within 10 minutes.',
  },
  repeat: { label: 'Repeat', explanation: 'A click on this recommendation had been paid for already.' },
  over_budget: { label: 'Over budget', explanation: 'The campaign’s budget was used up.' },
  no_credit: { label: 'No credit', explanation: 'The advertiser had no credit left to pay for it.' },
}

function inSeconds(ms: number): string {
  return ms === SECOND_MS ? 'a second' : `${ms / SECOND_MS} seconds`
}
