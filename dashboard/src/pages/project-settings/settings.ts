import type { Reply } from '../../api.ts'

export type Settings = Reply<'GET /api/projects/:project/settings'>
