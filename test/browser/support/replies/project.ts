import { snippetsFor } from '../../../../src/rules/calls/snippets.ts'
import type { Given, Replies } from '../canned-console.ts'
import { RECIPES } from './account.ts'
import { ago, id, OTHER_PROJECT, PUBLISHER } from './ids.ts'

type KeyPair = Given<'GET /api/projects/:project/keys'>['items'][number]

const GATEWAY = 'https://gateway.example.com'

function keyPair(n: number, name: string, more: Partial<KeyPair>): KeyPair {
  return {
    id: id(n),
    name,
    publishableKey: `ply_pk_${n}${name.replaceAll(' ', '')}`,
    secretHint: `ply_sk_…${n}xy`,
    status: 'active',
    explanation: `What is to be said about ${name}.`,
    createdAt: ago({ days: n - 70 }),
    createdBy: 'Ada Keller',
    lastUsedAt: ago({ minutes: n }),
    expiresAt: null,
    replacedBy: null,
    spent30dNanos: BigInt(n) * 31_000_000n,
    ...more,
  }
}

function newKeyPair(name: string, oldEndsAt: Date | null): Given<'POST /api/projects/:project/keys'> {
  return {
    id: id(79),
    name,
    publishableKey: 'ply_pk_79new',
    secretKey: 'ply_sk_79topsecret',
    gatewayUrl: GATEWAY,
    model: 'small-1',
    oldEndsAt,
  }
}

export const DOMAIN: Given<'GET /api/projects/:project/domain'> = {
  name: 'recipes.example.com',
  displayName: 'recipes.example.com',
  state: 'verified',
  explanation: 'The domain is yours, and calls are served.',
  provenBy: 'dns',
  verifiedAt: ago({ days: 61 }),
  failingSince: null,
  lapsesAt: null,
  lapsedAt: null,
  checkedAt: ago({ hours: 3 }),
  nextCheckAt: ago({ hours: -21 }),
  record: {
    name: '_parley.recipes.example.com',
    host: '_parley.recipes',
    zone: 'example.com',
    value: 'parley-verify=value71',
  },
  file: { url: 'https://recipes.example.com/.well-known/parley.txt', content: 'parley-verify=content72' },
  twin: 'www.recipes.example.com',
  lastSeen: {
    record: { outcome: 'match', values: ['parley-verify=value71'], explanation: 'The record is there.' },
    file: { outcome: 'not_needed', explanation: 'The record is enough.' },
  },
}

export const SETTINGS: Given<'GET /api/projects/:project/settings'> = {
  name: 'Recipes',
  allowedModels: ['small-1', 'retired-9'],
  contentRetentionDays: 45,
  servedModels: [
    { id: 'small-1', ownedBy: 'acme', contextWindow: 128_000 },
    { id: 'large-2', ownedBy: 'umbrella', contextWindow: 1_000_000 },
    { id: 'odd-3', ownedBy: 'initech', contextWindow: null },
  ],
  limits: { requestsPerMinute: 600, tokensPerMinute: 1_234_567n, concurrentCalls: null },
  keyPairs: 5,
  balanceNanos: 42_317_000_000n,
  pendingNanos: 5_180_000_000n,
}

const SHOWN = {
  ...RECIPES,
  publisherId: PUBLISHER,
  contentRetentionDays: 45,
  allowedModels: null,
}

export const PROJECT_DETAILS: Given<'GET /api/projects/:project'> = {
  ...SHOWN,
  role: 'owner',
  publisher: { id: PUBLISHER, name: 'Keller Press', activatedAt: ago({ days: 89 }) },
}

function snippets(model: string) {
  const request = { model, messages: [{ role: 'user' as const, content: 'Say hello.' }], stream: true }
  return snippetsFor(GATEWAY, request)
}

type Listed = Given<'GET /api/projects/:project/catalogue'>['items'][number]

function listed(model: string, price: bigint, more: Partial<Listed>): Listed {
  return {
    id: model,
    kind: 'chat',
    ownedBy: 'a maker',
    contextWindow: null,
    maxOutputTokens: null,
    price: {
      input: price * 150_000_000n,
      cachedInput: price * 75_000_000n,
      cacheWrite: price * 187_500_000n,
      output: price * 600_000_000n,
      reasoning: price * 600_000_000n,
    },
    abilities: [],
    calls: 0,
    measured: null,
    ...more,
  }
}

const DONE = { done: true } as const

export const PROJECTS: Replies = {
  'GET /api/projects/:project': PROJECT_DETAILS,
  'PATCH /api/projects/:project': { ...SHOWN, name: 'Cooking' },
  'POST /api/publishers/:publisher/projects': { ...SHOWN, id: OTHER_PROJECT, name: 'Weather' },
  'GET /api/projects/:project/models': {
    items: [
      {
        id: 'small-1',
        inputNanos: 150_000_000n,
        outputNanos: 600_000_000n,
        contextWindow: 128_000,
        maxOutputTokens: 16_000,
      },
      {
        id: 'large-2',
        inputNanos: 2_500_000_000n,
        outputNanos: 10_000_000_000n,
        contextWindow: null,
        maxOutputTokens: null,
      },
    ],
    default: 'small-1',
  },
  'GET /api/projects/:project/catalogue': {
    measuredFrom: ago({ hours: 23 }),
    items: [
      listed('small-1', 1n, {
        contextWindow: 128_000,
        maxOutputTokens: 16_000,
        abilities: ['tools', 'images', 'json_schema', 'caching'],
        calls: 1_234,
        measured: { failed: 12, firstTokenMs: { p50: 312, p95: 1_450 } },
      }),
      listed('large-2', 16n, { abilities: ['tools', 'json_schema', 'reasoning'], calls: 19 }),
      listed('embed-3', 0n, { kind: 'embedding', contextWindow: 8_191, abilities: ['embeddings'] }),
    ],
  },
  'GET /api/projects/:project/quick-start': ({ query }) => ({
    gatewayUrl: GATEWAY,
    model: query.model ?? 'small-1',
    models: ['small-1', 'large-2'],
    keysText: `export PARLEY_PUBLISHABLE_KEY='PUBLISHABLE'\nexport PARLEY_SECRET_KEY='SECRET'`,
    placeholders: { publishableKey: 'PUBLISHABLE', secretKey: 'SECRET' },
    snippets: snippets(query.model ?? 'small-1'),
  }),
  'POST /api/projects/:project/playground/code': { items: snippets('small-1') },
  'GET /api/projects/:project/saved-prompts': {
    items: [
      { id: id(81), name: 'Headlines', model: 'large-2', savedAt: ago({ hours: 5 }), savedBy: 'Ada Keller' },
      { id: id(82), name: 'Summaries for the front page', model: 'gone-1', savedAt: ago({ days: 12 }), savedBy: null },
    ],
    most: 100,
  },
  'POST /api/projects/:project/saved-prompts': { id: id(83) },
  'GET /api/projects/:project/saved-prompts/:prompt': {
    id: id(81),
    name: 'Headlines',
    model: 'large-2',
    savedAt: ago({ hours: 5 }),
    savedBy: 'Ada Keller',
    system: 'You are the editor.',
    messages: [
      { role: 'user', content: 'Three headlines about bread.' },
      { role: 'assistant', content: 'Rise. Crust. Crumb.' },
      { role: 'user', content: 'Shorter.' },
    ],
    temperature: 0.5,
    maxTokens: null,
    stream: false,
  },
  'PUT /api/projects/:project/saved-prompts/:prompt': DONE,
  'PATCH /api/projects/:project/saved-prompts/:prompt': DONE,
  'DELETE /api/projects/:project/saved-prompts/:prompt': DONE,
  'GET /api/projects/:project/domain': DOMAIN,
  'POST /api/projects/:project/domain/check': DOMAIN,
  'PATCH /api/projects/:project/domain': { ...DOMAIN, displayName: 'cooking.example.com', name: 'cooking.example.com' },
  'GET /api/projects/:project/keys': {
    items: [
      keyPair(71, 'web server', {}),
      keyPair(72, 'nightly import', { status: 'inactive', createdBy: null, lastUsedAt: null }),
      keyPair(73, 'web server', { status: 'ending', replacedBy: id(71), expiresAt: ago({ hours: -23, minutes: -12 }) }),
      keyPair(74, 'campaign', { status: 'expired', expiresAt: ago({ days: 2 }), createdBy: 'Bea Ford' }),
      keyPair(75, 'web server', { status: 'expired', replacedBy: id(73), expiresAt: ago({ days: 9 }) }),
      keyPair(76, 'trial', { expiresAt: ago({ days: -29, hours: -5 }), spent30dNanos: 0n }),
    ],
  },
  'POST /api/projects/:project/keys': newKeyPair('batch', null),
  'POST /api/projects/:project/keys/:key/roll': newKeyPair('web server', ago({ hours: -24 })),
  'POST /api/projects/:project/keys/:key/end': DONE,
  'PATCH /api/projects/:project/keys/:key': DONE,
  'DELETE /api/projects/:project/keys/:key': DONE,
  'GET /api/projects/:project/settings': SETTINGS,
  'PATCH /api/projects/:project/settings': { name: 'Recipes', allowedModels: ['small-1'], contentRetentionDays: 30 },
  'DELETE /api/projects/:project': DONE,
}
