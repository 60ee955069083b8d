import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  budgetsIn,
  nextMinuteOf,
  ratesIn,
  renewalOf,
  type BudgetState,
  type LimitScope,
  type RateState,
} from '../../rules/billing/limits.ts'
import { endUserIdOf } from '../../rules/calls/end-users.ts'
import { ParleyError } from '../../rules/errors.ts'
import { findCountedLimits, findCredits } from '../../store/billing/limits.ts'
import { orUnavailable } from '../../store/database.ts'
import type { Gateway } from '../gateway.ts'
import { headerOf } from '../headers.ts'

/** GET /v1/credits: what the wallet has, and what each limit of the calling key pair leaves. */
export async function answerCredits({ db, endUsers }: Gateway, request: FastifyRequest, reply: FastifyReply) {
  const { caller } = request
  const credits = await orUnavailable(findCredits(db, caller.projectId))
  if (!credits) throw new ParleyError('internal')
  const endUser = endUserIdOf(headerOf(request, 'x-end-user-id'), undefined)
  const endUserId = endUser === undefined ? undefined : endUsers.digestOf(caller.projectId, endUser)
  const states = await orUnavailable(findStates(db, caller, endUserId))
  const now = new Date()
  const { balance, held, rates } = credits
  return reply.header('cache-control', 'private, no-store').send({
    object: 'credits',
    unit: 'nanos of a credit',
    balance_nanos: balance.toString(),
    held_nanos: held.toString(),
    available_nanos: (balance - held).toString(),
    limits: [
      ...rateBodiesOf('project', rates, now),
      ...states.flatMap(({ scope, state }) => rateBodiesOf(scope, state, now)),
    ],
    budgets: states.flatMap(({ scope, state }) => budgetBodiesOf(scope, state, now)),
  })
}

interface SubjectState {
  scope: LimitScope
  state: RateState & BudgetState
}

async function findStates(
  db: Gateway['db'],
  { publisherId, projectId, countedAs }: FastifyRequest['caller'],
  endUserId: string | undefined,
): Promise<SubjectState[]> {
  const subjects = [
    { scope: 'publisher', subject: publisherId },
    { scope: 'project', subject: projectId },
    { scope: 'key_pair', subject: countedAs },
    ...(endUserId === undefined ? [] : [{ scope: 'end_user', subject: endUserId } as const]),
  ] as const
  const counted = await findCountedLimits(db, projectId, subjects)
  return subjects.flatMap(({ scope }, n) => {
    const state = counted[n]?.state
    return state ? [{ scope, state }] : []
  })
}

function rateBodiesOf(of: LimitScope, state: RateState, now: Date) {
  return ratesIn(state).map(({ name, limit, left }) => ({
    of,
    name: name === 'calls' ? 'calls_at_once' : `${name}_per_minute`,
    limit,
    left,
    renews_at: name === 'calls' ? null : nextMinuteOf(now).toISOString(),
  }))
}

function budgetBodiesOf(of: LimitScope, state: BudgetState, now: Date) {
  return budgetsIn(state).map(({ period, limit, spent, left }) => ({
    of,
    period,
    limit_nanos: limit.toString(),
    spent_nanos: spent.toString(),
    left_nanos: left.toString(),
    renews_at: renewalOf(period, now)?.toISOString() ?? null,
  }))
}
