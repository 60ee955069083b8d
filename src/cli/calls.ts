import type { Command } from 'commander'
import type { Outcome } from '../rules/charging.ts'
import { formatCredits } from '../rules/money.ts'
import { findCall, findHold, findLateCharge } from '../store/calls.ts'
import type { Attempt } from '../store/ledger.ts'
import { CliError } from './failures.ts'
import { facts, type Output } from './print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from './session.ts'

export function addCallCommands(program: Command): void {
  const call = program.command('call').description('one request and its answer')
  addCommand(call, 'show', 'show what happened and what it cost', `parley call show ${EXAMPLE_ID}`)
    .argument('<id>', 'a uuid, or the chatcmpl-… of the answer')
    .action(withStore(show))
}

const OUTCOMES: Record<Outcome, string> = {
  completed: 'the answer was complete',
  hung_up: 'the caller hung up',
  hold_used_up: 'the credit was used up, so the answer was ended early',
  upstream_failed: 'the provider failed',
  truncated: 'the provider broke off',
  timed_out: 'the provider was too slow',
  gateway_failed: 'Parley failed',
  gateway_died: 'the gateway died during the call',
}

/** `chatcmpl-` and 32 hexadecimal digits is the same id as the uuid. */
export function callIdOf(text: string): string {
  const digits = text
    .replace(/^chatcmpl-/, '')
    .replaceAll('-', '')
    .toLowerCase()
  if (!/^[0-9a-f]{32}$/.test(digits)) {
    throw new CliError(`"${text}" is not the id of a call: give the id of the answer (chatcmpl-…), or a uuid.`)
  }
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

async function show({ db }: Session, text: string): Promise<Output> {
  const id = callIdOf(text)
  const call = await findCall(db, id)
  if (!call) return running(db, id)
  const late = await findLateCharge(db, id)
  const attempts = call.attempts as Attempt[]
  const document = { ...call, late_charge_nanos: late?.amount_nanos ?? 0n }
  return {
    document,
    text: facts({
      call: id,
      project: call.project_id,
      'key pair': call.key_pair_id,
      model: call.model_id,
      conversation: call.conversation_id,
      'request id': call.request_id,
      time: call.created_at,
      outcome: `${call.outcome}: ${OUTCOMES[call.outcome as Outcome]}`,
      status: call.status,
      error: call.error_code,
      'finish reason': call.finish_reason,
      streamed: call.streamed,
      'first token': call.first_token_ms === null ? null : `${call.first_token_ms} ms`,
      duration: `${call.duration_ms} ms`,
      attempts: attempts.map(({ provider, ms, failed }) => `${provider} ${failed ?? 'answered'} after ${ms} ms`),
      tokens: tokensOf(call),
      worth: formatCredits(call.usage_nanos),
      charged: formatCredits(call.charged_nanos),
      ...(late && { 'charged late': formatCredits(late.amount_nanos) }),
      'price version': call.price_version_id,
    }),
  }
}

async function running(db: Session['db'], id: string): Promise<Output> {
  const hold = await findHold(db, id)
  if (!hold) {
    throw new CliError(
      `There is no call ${id}. Only calls that were admitted are kept: the log has the others, by their x-request-id.`,
    )
  }
  const { project_id, key_pair_id, model_id, amount_nanos, held_at } = hold
  return {
    document: { id, outcome: null, project_id, key_pair_id, model_id, held_nanos: amount_nanos, held_at },
    text: facts({
      call: id,
      project: project_id,
      'key pair': key_pair_id,
      model: model_id,
      time: held_at,
      outcome: 'still running',
      held: formatCredits(amount_nanos),
    }),
  }
}

type Call = NonNullable<Awaited<ReturnType<typeof findCall>>>

function tokensOf(call: Call): string {
  const counts = [
    `${call.input_tokens} input`,
    `${call.cached_input_tokens} cached input`,
    `${call.cache_write_tokens} cache write`,
    `${call.output_tokens} output`,
    `${call.reasoning_tokens} reasoning`,
  ]
  const source = { reported: 'as the provider reported', estimated: 'as Parley counted' }[call.usage_source]
  return `${counts.join(', ')}${source === undefined ? '' : ` (${source})`}`
}
