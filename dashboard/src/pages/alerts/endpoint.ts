import type { Reply } from '../../api.ts'

export type Endpoint = Reply<'GET /api/projects/:project/webhooks'>['items'][number]
