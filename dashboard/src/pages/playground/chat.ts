import type { Call, Reply } from '../../api.ts'
import type { Refusal } from './events.ts'

export type Request = Call<'POST /api/projects/:project/playground'>['body']
export type Receipt = Reply<'GET /api/projects/:project/calls/:call'>

export interface Settings {
  model: string
  system: string
  /** As typed; empty: what the model does by itself. */
  temperature: string
  maxTokens: string
  isStreamed: boolean
}

export interface Turn {
  id: number
  question: string
  request: Request
  text: string
  events: string[]
  state: 'asking' | 'answering' | 'done' | 'stopped' | 'failed'
  refusal?: Refusal
  completionId?: string
  receipt?: Receipt
}

export function isRunning(turn: Turn | undefined): boolean {
  return turn?.state === 'asking' || turn?.state === 'answering'
}

/** The last question and what was before it: asked again, it takes the place of its answer. */
export function lastOf(turns: readonly Turn[]): { earlier: Turn[]; question: string } | undefined {
  const last = turns.at(-1)
  return last && !isRunning(last) ? { earlier: turns.slice(0, -1), question: last.question } : undefined
}

/** What was said before, without what failed: a model is not asked to go on from an error. */
export function requestFor(settings: Settings, earlier: readonly Turn[], question: string): Request {
  const said = earlier
    .filter(({ text, state }) => text !== '' && state !== 'failed')
    .flatMap(({ question: asked, text }) => [
      { role: 'user' as const, content: asked },
      { role: 'assistant' as const, content: text },
    ])
  const system = settings.system.trim()
  return {
    model: settings.model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...said,
      { role: 'user', content: question },
    ],
    temperature: numberIn(settings.temperature),
    maxTokens: numberIn(settings.maxTokens),
    stream: settings.isStreamed,
  }
}

function numberIn(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

/** What is wrong with what was typed; undefined when nothing is. */
export function problemIn({
  temperature,
  maxTokens,
}: Settings): { field: 'temperature' | 'maxTokens'; words: string } | undefined {
  const heat = numberIn(temperature)
  if (heat !== null && !(heat >= 0 && heat <= 2)) return { field: 'temperature', words: 'From 0 to 2.' }
  const most = numberIn(maxTokens)
  if (most !== null && !(Number.isInteger(most) && most >= 1))
    return { field: 'maxTokens', words: 'A whole number from 1.' }
  return undefined
}
