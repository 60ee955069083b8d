import type { Reply } from '../../api.ts'

type Team = Reply<'GET /api/publishers/:publisher/team'>
export type Member = Team['members'][number]
export type Invitation = Team['invitations'][number]
