import type { Item } from '../../api.ts'

export type Click = Item<'GET /api/projects/:project/clicks'>
export type Verdict = Click['verdict']
export type ClickState = Click['state']

/** The verdicts by which the list can be filtered, in the order of docs/clicks.md. */
export const VERDICTS: Record<Verdict, string> = {
  valid: 'Valid',
  test: 'Test',
  not_delivered: 'Not delivered',
  head: 'Link check',
  prefetch: 'Loaded ahead',
  agent: 'AI agent',
  bot: 'Bot',
  previewer: 'Link preview',
  not_a_browser: 'Not a browser',
  data_centre: 'Data centre',
  same_network: 'The site’s own network',
  too_fast: 'Too fast',
  too_old: 'Too old',
  project_closed: 'Project closed',
  too_many: 'Too many',
  repeat: 'Repeat',
  over_budget: 'Over budget',
  no_credit: 'No credit',
}

export const STATES: Record<ClickState, string> = {
  pending: 'Pending',
  released: 'Released',
  reversed: 'Taken back',
  unpaid: 'Not paid',
}
