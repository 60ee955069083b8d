import { HOUR_MS } from '../../rules/durations.ts'
import { snippetFor, type SnippetRequest } from '../../rules/calls/snippets.ts'
import { escapeHtml } from '../../rules/html.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import { findPublicFigures } from '../../store/billing/public-figures.ts'
import type { Db } from '../../store/database.ts'
import type { Installation } from '../world.ts'
import type { Template } from './template.ts'

/** Figures of this installation for strangers. Null: too little to publish without revealing someone. */
export interface FrontFigures {
  models: number
  calls: number | null
  firstTokenMs: number | null
}

/** The worker adds up every hour. */
const FIGURES_MS_MAX = 3 * HOUR_MS
/** No real model is named: publishers are told which models there are, strangers are not. */
const REQUEST: SnippetRequest = { model: 'MODEL', messages: [{ role: 'user', content: 'Say hello to my readers.' }] }

export async function findFigures(db: Db): Promise<FrontFigures> {
  const [models, told] = await Promise.all([listServedModels(db), findPublicFigures(db, FIGURES_MS_MAX)])
  return { models: models.length, calls: told?.calls ?? null, firstTokenMs: told?.firstTokenMs ?? null }
}

export function frontPage(
  template: Template,
  { gatewayUrl, publicPages, sandboxDomain }: Pick<Installation, 'gatewayUrl' | 'publicPages' | 'sandboxDomain'>,
  figures: FrontFigures | undefined,
): string {
  return template({
    sample: escapeHtml(snippetFor('node', gatewayUrl, REQUEST).text.trimEnd()),
    'first-step': stepOf(sandboxDomain === undefined ? FIRST_STEPS.domain : FIRST_STEPS.sandbox),
    'status-link': publicPages.status ? '<a href="/status">Status</a>' : '',
    figures: figures === undefined ? '' : figuresOf(figures),
  })
}

/** Where every account gets a sandbox, nobody begins with DNS. */
const FIRST_STEPS = {
  sandbox: {
    title: 'Create an account',
    text: 'You land in a sandbox with trial credit. Your own domain can wait until you go live.',
  },
  domain: {
    title: 'Verify your domain',
    text: 'Create an account and a project, and put one TXT record into your DNS.',
  },
}

function stepOf({ title, text }: { title: string; text: string }): string {
  return `<li><h3>${title}</h3><p>${text}</p></li>`
}

function figuresOf({ models, calls, firstTokenMs }: FrontFigures): string {
  const shown: [string, string][] = []
  if (models > 0) shown.push(['Models served', models.toLocaleString('en')])
  if (calls !== null) shown.push(['Calls answered in the last 30 days', `more than ${calls.toLocaleString('en')}`])
  if (firstTokenMs !== null) shown.push(['First token, p50 of the last 24 hours', `${firstTokenMs} ms`])
  if (shown.length === 0) return ''
  const list = shown.map(([label, value]) => `<div><dt>${label}</dt><dd>${value}</dd></div>`)
  return `<section aria-labelledby="here"><h2 id="here">This installation</h2><dl class="figures">${list.join('')}</dl></section>`
}
