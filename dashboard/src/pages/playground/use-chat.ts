import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { addressOf, api, ApiError } from '../../api.ts'
import { isRunning, lastOf, requestFor, type Receipt, type Request, type Settings, type Turn } from './chat.ts'
import { createEventReader, pieceOf } from './events.ts'

export interface Chat {
  turns: Turn[]
  send(question: string): void
  stop(): void
  regenerate(): void
  clear(): void
  /** Goes on from these instead. */
  restore(turns: readonly Turn[]): void
}

const EVENTS_KEPT = 2_000
/** An answer that was stopped is settled a moment after the browser has hung up. */
const RECEIPT_TRIES = 20
const RECEIPT_EVERY_MS = 250

export function useChat(project: string, settings: Settings): Chat {
  const [turns, setTurns] = useState<Turn[]>([])
  const running = useRef<AbortController | undefined>(undefined)
  const lastId = useRef(0)
  const client = useQueryClient()
  useEffect(() => () => running.current?.abort(), [])

  function change(id: number, changes: (turn: Turn) => Partial<Turn>): void {
    setTurns((all) => all.map((turn) => (turn.id === id ? { ...turn, ...changes(turn) } : turn)))
  }

  async function ask(turn: Turn): Promise<void> {
    const hangUp = new AbortController()
    running.current = hangUp
    let completionId: string | undefined
    const update = (changes: (turn: Turn) => Partial<Turn>) => change(turn.id, changes)
    try {
      for await (const events of answerTo(project, turn.request, hangUp.signal)) {
        const pieces = events.map(pieceOf)
        completionId ??= pieces.find(({ id }) => id)?.id
        const refusal = pieces.find((piece) => piece.refusal)?.refusal
        const text = pieces.map((piece) => piece.text ?? '').join('')
        update((now) => ({
          text: now.text + text,
          events: [...now.events, ...events].slice(0, EVENTS_KEPT),
          state: refusal ? 'failed' : text === '' ? now.state : 'answering',
          ...(refusal && { refusal }),
          ...(completionId && { completionId }),
        }))
      }
      update((now) => ({ state: now.state === 'failed' ? 'failed' : 'done' }))
    } catch (error) {
      const refusal = { code: 'unreachable', message: error instanceof Error ? error.message : String(error) }
      update(() => (hangUp.signal.aborted ? { state: 'stopped' } : { state: 'failed', refusal }))
    }
    const receipt = completionId && (await receiptOf(project, completionId))
    if (receipt) update(() => ({ receipt }))
    void client.invalidateQueries({ queryKey: ['GET /api/me'] })
  }

  function begin(earlier: Turn[], question: string): void {
    const request = requestFor(settings, earlier, question)
    const turn: Turn = { id: (lastId.current += 1), question, request, text: '', events: [], state: 'asking' }
    setTurns([...earlier, turn])
    void ask(turn)
  }

  function restore(said: readonly Turn[]): void {
    running.current?.abort()
    lastId.current = Math.max(lastId.current, ...said.map(({ id }) => id))
    setTurns([...said])
  }

  return {
    turns,
    send: (question) => !isRunning(turns.at(-1)) && begin(turns, question),
    stop: () => running.current?.abort(),
    regenerate() {
      const again = lastOf(turns)
      if (again) begin(again.earlier, again.question)
    },
    clear: () => restore([]),
    restore,
  }
}

/** Everything that has arrived since the last look, event by event. */
async function* answerTo(project: string, request: Request, signal: AbortSignal): AsyncGenerator<string[]> {
  const call = { params: { project }, body: request }
  const response = await fetch(addressOf('POST /api/projects/:project/playground', call), {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal,
  })
  if (!response.ok || !response.body) {
    const answer = (await response.json().catch(() => ({}))) as { message?: string }
    throw new ApiError(response.status, answer.message ?? 'The answer could not be fetched. Try again in a moment.')
  }
  const reader = createEventReader()
  const bytes = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await bytes.read()
    if (done) return
    const events = reader.read(value)
    if (events.length > 0) yield events
  }
}

async function receiptOf(project: string, call: string): Promise<Receipt | undefined> {
  for (let tries = 0; tries < RECEIPT_TRIES; tries++) {
    try {
      return await api('GET /api/projects/:project/calls/:call', { params: { project, call } })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) return undefined
      await new Promise((resolve) => setTimeout(resolve, RECEIPT_EVERY_MS))
    }
  }
  return undefined
}
