import { useEffect, useRef, useState } from 'react'
import type { RehearsalEvent } from '../../../../src/console/contract.ts'
import { addressOf, ApiError } from '../../api.ts'
import { createEventReader } from '../playground/events.ts'

type Part<Name extends string> =
  Extract<RehearsalEvent, Record<Name, unknown>> extends Record<Name, infer Value> ? Value : never
export type RehearsalProgress = Part<'progress'>
export type RehearsalResult = Part<'result'>
export type Placement = RehearsalResult['riskiest'][number]

/** It lives in this page alone: who leaves it ends the rehearsal, and with the page its figures are gone. */
export type RehearsalState =
  | { is: 'idle' }
  | { is: 'running'; progress: RehearsalProgress | undefined }
  | { is: 'done'; result: RehearsalResult }
  | { is: 'failed'; message: string }

export interface RehearsalRun {
  state: RehearsalState
  start(): void
  stop(): void
}

const REFUSALS: Record<Part<'refusal'>, string> = {
  project_busy: 'A rehearsal of this project is already running. Wait until it ends, or stop it.',
  matcher_busy: 'Other projects are being rehearsed right now. Try again in a minute.',
  unavailable: 'No matcher answered, or it broke off midway. Try again in a moment.',
}

export function useRehearsal(project: string): RehearsalRun {
  const [state, setState] = useState<RehearsalState>({ is: 'idle' })
  const running = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  async function run(hangUp: AbortController): Promise<void> {
    try {
      let last: RehearsalState | undefined
      for await (const event of eventsOf(project, hangUp.signal)) {
        last = stateOf(event)
        if (!hangUp.signal.aborted) setState(last)
      }
      if (last?.is !== 'done' && last?.is !== 'failed') throw new ApiError(0, REFUSALS.unavailable)
    } catch (error) {
      if (hangUp.signal.aborted) return
      setState({ is: 'failed', message: error instanceof ApiError ? error.message : REFUSALS.unavailable })
    }
  }

  return {
    state,
    start() {
      running.current?.abort()
      const hangUp = new AbortController()
      running.current = hangUp
      setState({ is: 'running', progress: undefined })
      void run(hangUp)
    },
    stop() {
      running.current?.abort()
      setState({ is: 'idle' })
    },
  }
}

function stateOf(event: RehearsalEvent): RehearsalState {
  if ('refusal' in event) return { is: 'failed', message: REFUSALS[event.refusal] }
  return 'result' in event ? { is: 'done', result: event.result } : { is: 'running', progress: event.progress }
}

async function* eventsOf(project: string, signal: AbortSignal): AsyncGenerator<RehearsalEvent> {
  const endpoint = 'POST /api/projects/:project/monetization/rehearsal'
  const response = await fetch(addressOf(endpoint, { params: { project } }), {
    method: 'POST',
    credentials: 'same-origin',
    signal,
  })
  if (!response.ok || !response.body) {
    const answer = (await response.json().catch(() => ({}))) as { message?: string }
    throw new ApiError(response.status, answer.message ?? REFUSALS.unavailable)
  }
  const reader = createEventReader()
  const bytes = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await bytes.read()
    if (done) return
    for (const data of reader.read(value)) yield JSON.parse(data) as RehearsalEvent
  }
}
