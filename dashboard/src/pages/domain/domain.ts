import type { Reply } from '../../api.ts'

export type Domain = Reply<'GET /api/projects/:project/domain'>
