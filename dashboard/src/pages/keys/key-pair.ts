import type { Item, Reply } from '../../api.ts'

export type KeyPair = Item<'GET /api/projects/:project/keys'>
/** With its secret key: the one answer that holds it. */
export type NewKeyPair = Reply<'POST /api/projects/:project/keys'>
