import { z } from 'zod'
import {
  REHEARSED_MESSAGES_MAX,
  type RehearsalSettings,
  type RehearsedConversation,
  type Verdict,
} from '../rules/recommendations/rehearsal.ts'
import { limitSchemas, outcomeSchema, turnSchema, uuid, verdictSchema } from './wire.ts'

/** Requests to a matcher for a rehearsal, some conversations at a time. */

/** Small, so that a matcher that reads it is soon free for a live reply, and what is cut off was little. */
export const BATCH_CONVERSATIONS_MAX = 50
export const BATCH_BYTES_MAX = 256 * 1024

export interface RehearsalRequest {
  /** One rehearsal has the same in all of its requests. */
  id: string
  projectId: string
  /**
   * The owner of the project: with many projects, a publisher still has one place. Consoles of the previous version do not
   * send it.
   */
  publisherId?: string | undefined
  settings: RehearsalSettings
  conversations: readonly RehearsedConversation[]
}

/** The verdict of every reply, in the order asked. */
export interface RehearsalReply {
  verdicts: Verdict[][]
}

const turnNumber = z.number().int().min(1).max(1_000_000)

export const rehearsalRequestSchema: z.ZodType<RehearsalRequest> = z.object({
  id: uuid,
  projectId: uuid,
  publisherId: uuid.optional(),
  settings: z.object({
    ...limitSchemas,
    firstTurn: turnNumber,
    minTurnGap: turnNumber,
    maxPerConversation: turnNumber,
  }),
  conversations: z
    .array(
      z.object({
        turns: z.array(turnSchema).max(REHEARSED_MESSAGES_MAX),
        replies: z
          .array(
            z.object({
              before: z.number().int().min(0).max(REHEARSED_MESSAGES_MAX),
              turn: turnNumber,
              gate: outcomeSchema.nullable(),
            }),
          )
          .max(REHEARSED_MESSAGES_MAX),
      }),
    )
    .max(BATCH_CONVERSATIONS_MAX),
})

export const rehearsalEndSchema = z.object({ id: uuid, projectId: uuid })

export const rehearsalReplySchema: z.ZodType<RehearsalReply> = z.object({
  verdicts: z.array(z.array(verdictSchema)),
})
