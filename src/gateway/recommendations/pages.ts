import type { FastifyReply } from 'fastify'
import { hostOfTracking } from '../../rules/clicks/tracking-template.ts'
import { escapeHtml } from '../../rules/html.ts'
import { REPORT_REASONS } from '../../rules/recommendations/report-reasons.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import type { ShownRecommendation } from '../../store/recommendations/clicks.ts'

/** The pages that readers see of a gateway. They need no script, set no cookie and load nothing. */

/** The advertiser does not learn where its reader came from, and nobody keeps or lists the address. */
export const READER_HEADERS = {
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem;color:#1c2024;background:#fff}' +
  'h1{font-size:1.375rem}h2{font-size:1.0625rem;margin-top:2rem}dt{font-weight:600}dd{margin:0 0 .5rem}' +
  'select,button{font:inherit;padding:.375rem .75rem;margin:.25rem .5rem .25rem 0;min-height:2.75rem}' +
  '@media(prefers-color-scheme:dark){body{color:#edeef0;background:#18191b}}'
const STYLE_DIGEST = textDigestOf(STYLE).toString('base64')
const policyOf = (forms: 'none' | 'self') =>
  `default-src 'none'; style-src 'sha256-${STYLE_DIGEST}'; base-uri 'none'; form-action '${forms}'; frame-ancestors 'none'`

export interface Page {
  title: string
  main: string
  hasForm?: boolean
}

export function sendPage(reply: FastifyReply, status: number, { title, main, hasForm = false }: Page) {
  const type = { 'content-type': 'text/html; charset=utf-8' }
  const headers = { ...READER_HEADERS, ...type, 'content-security-policy': policyOf(hasForm ? 'self' : 'none') }
  return reply.code(status).headers(headers).send(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${STYLE}</style></head><body><main>
${main}
</main></body></html>
`)
}

export function reasonPage(shown: ShownRecommendation, reportTo: string): Page {
  const advertiser = escapeHtml(shown.advertiser)
  const matched = [
    ...(shown.category === null ? [] : [['Found under', shown.category]]),
    ...(shown.hint === null ? [] : [['Meant by the advertiser', shown.hint]]),
  ]
  const network = shown.trackingTemplate === null ? undefined : hostOfTracking(shown.trackingTemplate)
  const facts = [
    ['Paid for by', shown.legalName ?? shown.advertiser],
    ['Website', shown.domain],
    ...(network === undefined ? [] : [['Link passes through', network]]),
    ...matched,
  ] as [string, string][]
  return {
    title: 'Why this ad?',
    hasForm: true,
    main: `<h1>Why you saw this</h1>
<p>The line marked “${escapeHtml(shown.label)}” is an advertisement. <strong>${advertiser}</strong> pays for it when someone follows its link.</p>
<dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>
<p>It was chosen because an offer of ${advertiser} fits what this conversation was about at that moment, and for no other reason. There is no profile of you and no cookie, and nothing is remembered from other conversations. ${advertiser} never learns what was said.</p>
${
  network === undefined
    ? ''
    : `<p>${escapeHtml(network)} counts visits for ${advertiser} and may set a cookie of its own when you follow the link.</p>
`
}<p>The answer above it was written without it, because the model never sees advertisements.</p>
<h2>Something wrong with it?</h2>
<form method="post" action="${reportTo}">
<label>Reason, if you like: <select name="reason"><option value="">None given</option>${OPTIONS}</select></label>
<button>Report this ad</button>
</form>
<p>With it, nothing about you is stored except a mark of your network, which no one can read after two days.</p>`,
  }
}

const OPTIONS = Object.entries(REPORT_REASONS)
  .map(([value, words]) => `<option value="${value}">${words}</option>`)
  .join('')

export const REPORTED_PAGE: Page = {
  title: 'Reported',
  main: `<h1>Thank you</h1>
<p>Your report was counted. When several readers report an offer, it is no longer shown here until a person has reviewed it.</p>`,
}

export function unavailablePage(advertiser: string): Page {
  return {
    title: 'No longer available',
    main: `<h1>This offer is no longer available</h1>
<p>You followed the link of an advertisement by ${escapeHtml(advertiser)} that is no longer shown. The link no longer leads anywhere.</p>`,
  }
}

/** The page for a link that does not work just now, or no longer does. Its reader has never heard of us. */
export function problemPage(status: number): Page {
  if (status < 500 && status !== 429) {
    return {
      title: 'Not found',
      main: `<h1>This link leads nowhere</h1>
<p>Part of it may be missing. The links of advertisements also expire.</p>`,
    }
  }
  return {
    title: 'Not available right now',
    main: `<h1>Try again in a moment</h1>
<p>We cannot look up where this link leads right now. Reload this page in a moment.</p>`,
  }
}
