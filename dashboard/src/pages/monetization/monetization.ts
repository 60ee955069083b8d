import type { Item, Reply } from '../../api.ts'

export type Monetization = Reply<'GET /api/projects/:project/monetization'>
export type Mode = Monetization['mode']
export type Recommendation = Item<'GET /api/projects/:project/recommendations'>

/** Endpoints to read again when something that decides about recommendations has changed. */
export const CHANGED = [
  'GET /api/projects/:project/monetization',
  'GET /api/projects/:project/monetization/preview',
  'GET /api/projects/:project/recommendations',
  'GET /api/projects/:project/earnings',
] as const satisfies `GET ${string}`[]
