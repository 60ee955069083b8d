import { z } from 'zod'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { amount, count, done, entries, time } from './fields.ts'

/** A call in the few words that the first page has room for. */
const call = z.object({
  /** The completion's id, as the caller got it. */
  id: z.string(),
  requestId: z.string(),
  beganAt: time,
  model: z.string(),
  keyName: z.string().nullable(),
  outcome: z.enum(CALL_OUTCOMES),
  title: z.string(),
  status: z.number(),
  errorCode: z.string().nullable(),
  inputTokens: count,
  outputTokens: count,
  chargedNanos: amount,
  firstTokenMs: z.number().nullable(),
  durationMs: z.number(),
})

const failure = z.object({
  errorCode: z.string().nullable(),
  outcome: z.enum(CALL_OUTCOMES),
  title: z.string(),
  explanation: z.string(),
  status: z.number(),
  calls: count,
  firstAt: time,
  lastAt: time,
  models: z.array(z.string()),
  /** The newest of them: the completion's id, and the request's. */
  id: z.string(),
  requestId: z.string(),
})

/** Null: there was nothing to compare with. */
const compared = z.object({ nanos: amount, previousNanos: amount })

export const home = entries({
  /** Light enough to be asked for every other second while somebody waits for their first call to appear. */
  'GET /api/projects/:project/onboarding': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      isActivated: z.boolean(),
      isDomainVerified: z.boolean(),
      hasKeyPair: z.boolean(),
      hasCredit: z.boolean(),
      /** The newest that was answered, however it was made; while there is none, the newest that failed. */
      call: call.nullable(),
      isAnswered: z.boolean(),
      isDismissed: z.boolean(),
      /** Then neither a domain nor credit is asked for, and the last step is a project of one's own. */
      isSandbox: z.boolean(),
      hasOwnProject: z.boolean(),
    }),
  },
  // Only when all of it is done.
  'POST /api/projects/:project/onboarding/dismiss': { access: 'project', role: 'developer', reply: done },
  'GET /api/projects/:project/home': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      balanceNanos: amount,
      heldNanos: amount,
      /** Days are days in UTC. Today is compared with yesterday up to the same hour. */
      spent: z.object({ today: compared, week: compared, month: compared }),
      /** The last seven days, today included, and the seven before. */
      week: z.object({
        calls: count,
        previousCalls: count,
        failed: count,
        previousFailed: count,
        firstTokenMs: z.object({ p50: z.number().nullable(), p95: z.number().nullable() }),
        previousFirstTokenMs: z.object({ p50: z.number().nullable(), p95: z.number().nullable() }),
      }),
      /** The last 30 days, today included. */
      days: z.array(z.object({ at: time, calls: count, failed: count, chargedNanos: amount })),
      models: z.array(z.object({ model: z.string(), calls: count, chargedNanos: amount })),
      /**
       * The newest calls that our side or a provider broke, told once for each code and sentence, those that failed last
       * first. Looked for only among the newest of all, and of those only the newest `failuresMax` are counted.
       */
      failures: z.array(failure),
      failuresMax: count,
      /** Calls that were settled later are not counted yet. */
      upTo: time.nullable(),
    }),
  },
})
