import type { JsonLimits } from '../platform/json.ts'
import type { ReplyChunk } from '../rules/calls/chunk.ts'
import type { CallEndpointName } from '../rules/endpoints.ts'
import type { Call } from './call.ts'
import type { Gateway } from './gateway.ts'
import type { AnswerHead, BodyWriter, EventWriter } from './response/wire.ts'

/**
 * An endpoint whose requests are calls. It says how a request is read and how its answer is written; how a call is admitted,
 * held, limited, charged, repeated, logged and ended is the same for all of them.
 */
export interface CallEndpoint {
  readonly name: CallEndpointName
  /** Limits of its bodies, where they are not the usual ones. */
  readonly jsonLimits?: JsonLimits
  /** Its calls belong to no conversation: the header that names one is not read. */
  readonly isStandalone?: boolean
  /** Checks what was sent, and begins to answer it. Throws 400 and 422. */
  begin(gateway: Gateway, call: Call): BegunAnswer
}

export interface BegunAnswer {
  /** As the caller named it. */
  readonly model: string
  /** The chunks that came together, in one batch. They are read to the end, whether or not anybody still wants them. */
  readonly chunks: AsyncGenerator<readonly ReplyChunk[]>
  /** Undefined: the answer is one JSON body. */
  readonly eventsOf: ((head: AnswerHead) => EventWriter) | undefined
  readonly body: BodyWriter
}
