import type { Reply } from '../../api.ts'

export type Overview = Reply<'GET /api/advertisers/:advertiser'>
