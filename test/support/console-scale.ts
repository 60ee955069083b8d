import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import { createHash, randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { serve } from '../../src/serve.ts'
import { REPORT_KEYS } from '../../src/rules/recommendations/advertiser-report.ts'
import type { Db } from '../../src/store/database.ts'
import { createTenants, type Tenants } from '../../src/store/tenancy.ts'
import { databaseEnv, ensureTestLogins, loginUrl } from './logins.ts'
import { must, openBrowser, ORIGIN, PASSWORD, type Browser } from './console.ts'
import { openTestStore } from './database.ts'

/** The console on a database with very many calls, for `npm run bench:console` and its small brother in the tests. */

export interface Scale {
  browser: Browser
  db: Db
  tenants: Tenants
  place: ScalePlace
  close(): Promise<void>
}

export interface ScalePlace {
  publisher: string
  /** The project with half of all calls, and one with few. */
  large: string
  small: string
  call: string
  requestId: string
  conversation: string
  key: string
  endUser: string
  /** A webhook's. */
  endpoint: string
  /** The one with half of all recommendations, and a feed of it. */
  advertiser: string
  feed: string
  /** ISO dates: 30 days back, almost a year, and the day before yesterday. */
  monthAgo: string
  yearAgo: string
  lately: string
}

type ScaleRoute = [name: string, path: (place: ScalePlace) => string, body?: object]

/**
 * Every page's requests, as the web app sends them. A page that reads something which grows with the number of calls adds
 * its routes here: the bench then holds them to the time below, with ten million.
 */
export const SCALE_ROUTES: ScaleRoute[] = [
  ['home', ({ large }) => `/api/projects/${large}/home`],
  ['home of a quiet project', ({ small }) => `/api/projects/${small}/home`],
  ['onboarding', ({ large }) => `/api/projects/${large}/onboarding`],
  ['usage, 30 days by model', ({ large }) => `/api/projects/${large}/usage`],
  ['usage, 60 days by key', ({ large, monthAgo }) => `/api/projects/${large}/usage?by=key&every=day&from=${monthAgo}`],
  ['usage, 3 days by hour', ({ large, lately }) => `/api/projects/${large}/usage?every=hour&from=${lately}`],
  ['usage of the publisher', ({ publisher }) => `/api/publishers/${publisher}/usage`],
  ['usage.csv', ({ large }) => `/api/projects/${large}/usage.csv`],
  ['costs', ({ large }) => `/api/projects/${large}/costs`],
  ['costs.csv', ({ large }) => `/api/projects/${large}/costs.csv`],
  ['calls', ({ large }) => `/api/projects/${large}/calls`],
  ['calls of a quiet project', ({ small }) => `/api/projects/${small}/calls`],
  ['calls from long ago', ({ large, monthAgo }) => `/api/projects/${large}/calls?to=${monthAgo}T12:00:00Z`],
  ['calls that failed', ({ large }) => `/api/projects/${large}/calls?outcome=failed`],
  ['calls with a status', ({ large }) => `/api/projects/${large}/calls?status=502`],
  ['calls with a status that none has', ({ large }) => `/api/projects/${large}/calls?status=418`],
  ['calls with an error code', ({ large }) => `/api/projects/${large}/calls?error_code=upstream_error`],
  ['calls that used a cache', ({ large }) => `/api/projects/${large}/calls?cached=true`],
  ['calls at a price', ({ large }) => `/api/projects/${large}/calls?price=1`],
  ['calls with a recommendation', ({ large }) => `/api/projects/${large}/calls?recommendation=served`],
  ['calls that no offer fitted', ({ large }) => `/api/projects/${large}/calls?recommendation=no_match`],
  ['models', ({ large }) => `/api/projects/${large}/catalogue`],
  ['calls of a model and a key', ({ large, key }) => `/api/projects/${large}/calls?model=mistral-small&key=${key}`],
  ['calls that cost much', ({ large }) => `/api/projects/${large}/calls?min_cost=0.0285`],
  ['calls that cost more than any', ({ large }) => `/api/projects/${large}/calls?min_cost=99`],
  ['calls of a conversation', ({ large, conversation }) => `/api/projects/${large}/calls?conversation=${conversation}`],
  ['calls of no conversation', ({ large }) => `/api/projects/${large}/calls?conversation=nobody`],
  ['calls by metadata', ({ large }) => `/api/projects/${large}/calls?metadata_key=env&metadata_value=prod`],
  ['calls by rare metadata', ({ large }) => `/api/projects/${large}/calls?metadata_key=order&metadata_value=A-1`],
  ['calls by unknown metadata', ({ large }) => `/api/projects/${large}/calls?metadata_key=env&metadata_value=test`],
  ['ignored fields', ({ large }) => `/api/projects/${large}/ignored-fields`],
  ['refused requests', ({ large }) => `/api/projects/${large}/refused-requests`],
  ['refused requests of a status', ({ large }) => `/api/projects/${large}/refused-requests?status=403`],
  ['refused requests of a code', ({ large }) => `/api/projects/${large}/refused-requests?code=keys_invalid`],
  [
    'refused requests of a code and a key',
    ({ large, key }) => `/api/projects/${large}/refused-requests?code=model_not_found&key=${key}`,
  ],
  ['refused requests of a key', ({ large, key }) => `/api/projects/${large}/refused-requests?key=${key}`],
  [
    'refused requests from long ago',
    ({ large, monthAgo }) => `/api/projects/${large}/refused-requests?to=${monthAgo}T12:00:00Z`,
  ],
  ['what refused requests can be filtered by', ({ large }) => `/api/projects/${large}/refused-request-filters`],
  ['calls by request id', ({ large, requestId }) => `/api/projects/${large}/calls?id=${requestId}`],
  ['calls by another request id', ({ large }) => `/api/projects/${large}/calls?id=req_unknown`],
  ['calls by completion id', ({ large, call }) => `/api/projects/${large}/calls?id=${call}`],
  ['one call', ({ large, call }) => `/api/projects/${large}/calls/${call}`],
  ['wallet', ({ large }) => `/api/projects/${large}/wallet`],
  ['ledger', ({ large }) => `/api/projects/${large}/ledger`],
  ['ledger of a rare kind', ({ large }) => `/api/projects/${large}/ledger?kind=grant`],
  ['ledger from long ago', ({ large, monthAgo }) => `/api/projects/${large}/ledger?to=${monthAgo}T00:00:00Z`],
  ['ledger.csv', ({ large }) => `/api/projects/${large}/ledger.csv`],
  ['conversations', ({ large }) => `/api/projects/${large}/conversations`],
  ['monetization', ({ large }) => `/api/projects/${large}/monetization`],
  ['preview of a recommendation', ({ large }) => `/api/projects/${large}/monetization/preview`],
  ['outcomes of 30 days', ({ large }) => `/api/projects/${large}/monetization/outcomes?range=30d`],
  ['recommendations', ({ large }) => `/api/projects/${large}/recommendations`],
  ['advertisers', ({ large }) => `/api/projects/${large}/monetization/catalogue?name=shop`],
  ['categories of offers', ({ large }) => `/api/projects/${large}/monetization/categories`],
  ['earnings', ({ large }) => `/api/projects/${large}/earnings`],
  ['earnings of a year', ({ large, yearAgo }) => `/api/projects/${large}/earnings?from=${yearAgo}`],
  ['clicks', ({ large }) => `/api/projects/${large}/clicks`],
  ['clicks of a verdict', ({ large }) => `/api/projects/${large}/clicks?verdict=too_old`],
  ['clicks of a state', ({ large }) => `/api/projects/${large}/clicks?state=reversed`],
  ['project settings', ({ large }) => `/api/projects/${large}/settings`],
  ['alerts', ({ large }) => `/api/projects/${large}/alerts`],
  ['closed alerts', ({ large }) => `/api/projects/${large}/alert-history`],
  ['webhooks', ({ large }) => `/api/projects/${large}/webhooks`],
  ['deliveries', ({ large, endpoint }) => `/api/projects/${large}/webhooks/${endpoint}/deliveries`],
  ['search for a rare word', searched, { text: 'c4ca4238a0b923820dcc509a6f75849b' }],
  ['search for a word in every message', searched, { text: 'bread' }],
  ['search for two words', searched, { text: 'bread 976' }],
  ['search for a phrase that nobody said', searched, { text: '"bread matter"' }],
  ['models to choose from, and to compare', ({ large }) => `/api/projects/${large}/models`],
  ['saved prompts', ({ large }) => `/api/projects/${large}/saved-prompts`],
  ['quick start', ({ large }) => `/api/projects/${large}/quick-start`],
  ['key pairs', ({ large }) => `/api/projects/${large}/keys`],
  ['limits', ({ large }) => `/api/projects/${large}/limits`],
  ['browser sessions', ({ large }) => `/api/projects/${large}/browser-sessions`],
  ['end users', ({ large }) => `/api/projects/${large}/end-users`],
  ['one end user', ({ large, endUser }) => `/api/projects/${large}/end-users/${endUser}`],
  ['end users by label', ({ large }) => `POST /api/projects/${large}/end-users/search`, { text: 'Person 42' }],
  ['top-ups', ({ large }) => `/api/projects/${large}/top-ups`],
  ['automatic top-ups', ({ large }) => `/api/projects/${large}/auto-top-up`],
  ['status', () => '/status.json'],
  ['what calls can be filtered by', ({ large }) => `/api/projects/${large}/call-filters`],
  ["an advertiser's home", ({ advertiser }) => `/api/advertisers/${advertiser}`],
  ["an advertiser's wallet", ({ advertiser }) => `/api/advertisers/${advertiser}/wallet`],
  ['campaigns', ({ advertiser }) => `/api/advertisers/${advertiser}/campaigns`],
  ['feeds', ({ advertiser }) => `/api/advertisers/${advertiser}/feeds`],
  ['a feed', ({ advertiser, feed }) => `/api/advertisers/${advertiser}/feeds/${feed}`],
  ['runs of a feed', ({ advertiser, feed }) => `/api/advertisers/${advertiser}/feeds/${feed}/runs`],
  ['offers', ({ advertiser }) => `/api/advertisers/${advertiser}/offers`],
  ['offers that were rejected', ({ advertiser }) => `/api/advertisers/${advertiser}/offers?standing=rejected`],
  ['offers of a feed', ({ advertiser, feed }) => `/api/advertisers/${advertiser}/offers?feed=${feed}`],
  ['offers by a part of their title', ({ advertiser }) => `/api/advertisers/${advertiser}/offers?q=duct%207`],
  ...REPORT_KEYS.flatMap((by): ScaleRoute[] => [
    [`report by ${by}`, ({ advertiser }) => `/api/advertisers/${advertiser}/report?by=${by}`],
    [
      `report by ${by} of a year`,
      ({ advertiser, yearAgo }) => `/api/advertisers/${advertiser}/report?by=${by}&from=${yearAgo}`,
    ],
  ]),
  ['report.csv', ({ advertiser }) => `/api/advertisers/${advertiser}/report.csv?by=offer`],
]

function searched({ large }: ScalePlace): string {
  return `POST /api/projects/${large}/message-search`
}

/** As the web app asks: what people search for is in the body. */
export function askForPage({ browser, place }: Scale, [, path, body]: ScaleRoute) {
  const asked = path(place)
  return must(browser.send(asked.startsWith('POST ') ? asked : `GET ${asked}`, body && { body }))
}

/** Signs a new person in, who becomes a member of the seeded publisher. */
export async function openScale(url: string, largeProject: string): Promise<Scale> {
  const env = {
    ...databaseEnv(url),
    // The same for every run: a database belongs to the secret that it was first opened with.
    PARLEY_SECRET: createHash('sha256').update('console scale').digest('base64'),
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_OPS_PORT: '0',
    PARLEY_CONSOLE_PORT: '0',
    PARLEY_CONSOLE_URL: ORIGIN,
    PARLEY_STATUS_PAGE: 'true',
  }
  await ensureTestLogins(url)
  const running = await serve(readConfig(env), ['console'], createLog('silent'))
  const tenantUrl = loginUrl(url, 'tenant')
  const store = openTestStore({
    url,
    tenantUrl,
    applicationName: 'parley scale',
    poolMax: 2,
    statementTimeoutMs: 60_000,
  })
  const browser = openBrowser({ consoleUrl: String(running.consoleUrl) })
  const email = `scale-${randomBytes(6).toString('hex')}@example.com`
  await must(browser.send('POST /api/auth/sign-up/email', { body: { name: 'Scale', email, password: PASSWORD } }))
  await must(browser.send('POST /api/auth/sign-in/email', { body: { email, password: PASSWORD } }))
  return {
    browser,
    db: store.db,
    tenants: store.tenants,
    place: await placeOf(store.db, largeProject, email),
    async close() {
      await running.stop()
      await store.close()
    },
  }
}

async function placeOf(db: Db, large: string, email: string): Promise<ScalePlace> {
  const { publisher_id: publisher } = await db
    .selectFrom('projects')
    .select('publisher_id')
    .where('id', '=', large)
    .executeTakeFirstOrThrow()
  const user = await db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirstOrThrow()
  await db.insertInto('memberships').values({ publisher_id: publisher, user_id: user.id, role: 'admin' }).execute()
  const { id: small } = await db
    .selectFrom('projects')
    .select('id')
    .where('publisher_id', '=', publisher)
    .where('id', '<>', large)
    .limit(1)
    .executeTakeFirstOrThrow()
  const { advertiser, feed } = await db
    .selectFrom('advertisers')
    .innerJoin('feeds', 'advertiser_id', 'advertisers.id')
    .select(['advertisers.id as advertiser', 'feeds.id as feed'])
    .where('advertisers.name', '=', 'Shop 1')
    .limit(1)
    .executeTakeFirstOrThrow()
  await db
    .insertInto('advertiser_members')
    .values({ advertiser_id: advertiser, user_id: user.id, role: 'viewer' })
    .execute()
  const call = await db
    .selectFrom('calls')
    .select(['id', 'request_id', 'conversation_id', 'key_pair_id'])
    .where('project_id', '=', large)
    .where('conversation_id', 'is not', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirstOrThrow()
  const idOf = async (table: 'end_users' | 'webhook_endpoints') => {
    const { id } = await db
      .selectFrom(table)
      .select('id')
      .where('project_id', '=', large)
      .limit(1)
      .executeTakeFirstOrThrow()
    return id
  }
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
  return {
    publisher,
    large,
    small,
    call: call.id,
    requestId: call.request_id,
    conversation: String(call.conversation_id),
    key: call.key_pair_id,
    endUser: await idOf('end_users'),
    endpoint: await idOf('webhook_endpoints'),
    advertiser,
    feed,
    monthAgo: daysAgo(30),
    yearAgo: daysAgo(360),
    lately: daysAgo(2),
  }
}

export interface Scan {
  relation: string
  /** Rows that it read, returned or not. */
  rows: number
}

/** A database whose selects are also explained: each statement's scans, as far as they were run at all. */
export async function openExplained(url: string): Promise<{ tenants: Tenants; scans: Scan[]; close(): Promise<void> }> {
  const client = new Client({ connectionString: loginUrl(url, 'tenant'), statement_timeout: 60_000 })
  await client.connect()
  const scans: Scan[] = []
  const explained = {
    async query(text: string, values: unknown[]) {
      if (/\bfrom\b/i.test(text) && !/set_config/.test(text) && /^\s*select/i.test(text)) {
        const { rows } = await client.query(`explain (analyze, timing off, format json) ${text}`, values)
        collectScans(rows[0]['QUERY PLAN'][0].Plan, scans)
      }
      return client.query(text, values)
    },
    release: () => undefined,
  }
  const pool: PostgresPool = {
    options: {},
    connect: () => Promise.resolve(explained as unknown as PostgresPoolClient),
    end: () => client.end(),
  }
  const db = new Kysely<never>({ dialect: new PostgresDialect({ pool }) }) as unknown as Db
  const owner = openTestStore({ url, applicationName: 'parley scale', poolMax: 1 })
  return {
    tenants: createTenants(db, owner.db),
    scans,
    async close() {
      await db.destroy()
      await owner.close()
    },
  }
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

function collectScans(node: PlanNode, scans: Scan[]): void {
  const loops = node['Actual Loops']
  if (node['Relation Name'] !== undefined && loops > 0) {
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
    scans.push({ relation: node['Relation Name'], rows: (node['Actual Rows'] + removed) * loops })
  }
  for (const child of node.Plans ?? []) collectScans(child, scans)
}
