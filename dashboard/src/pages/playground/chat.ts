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
  /** Was said before a second model was asked as well, or was saved: both go on from it. */
  isShared?: true
}

export type AskedPrompt = Call<'PUT /api/projects/:project/saved-prompts/:prompt'>['body']
export type SavedPrompt = Reply<'GET /api/projects/:project/saved-prompts/:prompt'>

export function isRunning(turn: Turn | undefined): boolean {
  return turn?.state === 'asking' || turn?.state === 'answering'
}

/** The last question and what was before it: asked again, it takes the place of its answer. */
export function lastOf(turns: readonly Turn[]): { earlier: Turn[]; question: string } | undefined {
  const last = turns.at(-1)
  return last && !isRunning(last) ? { earlier: turns.slice(0, -1), question: last.question } : undefined
}

/** The request for a question after earlier turns. Failed ones are left out: a model is not asked to go on from an error. */
export function requestFor(settings: Settings, earlier: readonly Turn[], question: string): Request {
  const system = settings.system.trim()
  return {
    model: settings.model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...saidIn(earlier),
      { role: 'user', content: question },
    ],
    temperature: numberIn(settings.temperature),
    maxTokens: numberIn(settings.maxTokens),
    stream: settings.isStreamed,
  }
}

function saidIn(turns: readonly Turn[]) {
  return turns
    .filter(({ text, state }) => text !== '' && state !== 'failed')
    .flatMap(({ question, text }) => [
      { role: 'user' as const, content: question },
      { role: 'assistant' as const, content: text },
    ])
}

/** The prompt to save: the chat, and at its end the question to ask. That is the draft or, without one, the last question. */
export function promptOf(settings: Settings, turns: readonly Turn[], draft: string): AskedPrompt {
  const last = turns.at(-1)
  const isAsked = draft.trim() === '' && last !== undefined
  const question = isAsked ? last.question : draft.trim()
  return {
    model: settings.model,
    system: settings.system.trim(),
    messages: [
      ...saidIn(isAsked ? turns.slice(0, -1) : turns),
      ...(question === '' ? [] : [{ role: 'user' as const, content: question }]),
    ],
    temperature: numberIn(settings.temperature),
    maxTokens: numberIn(settings.maxTokens),
    stream: settings.isStreamed,
  }
}

/** The same back again: nothing is asked by opening it. */
export function openedFrom(prompt: SavedPrompt): { settings: Settings; turns: Turn[]; draft: string } {
  const { messages, temperature, maxTokens } = prompt
  const settings = {
    model: prompt.model,
    system: prompt.system,
    temperature: temperature === null ? '' : String(temperature),
    maxTokens: maxTokens === null ? '' : String(maxTokens),
    isStreamed: prompt.stream,
  }
  const turns: Turn[] = []
  let draft = ''
  for (const { role, content } of messages) {
    if (role === 'user') draft = content
    else {
      const turn = { id: turns.length + 1, question: draft, request: requestFor(settings, turns, draft) }
      turns.push({ ...turn, text: content, events: [], state: 'done', isShared: true })
      draft = ''
    }
  }
  return { settings, turns, draft }
}

function numberIn(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

/** The first setting that is invalid; undefined when none is. */
export function problemIn({
  temperature,
  maxTokens,
}: Settings): { field: 'temperature' | 'maxTokens'; words: string } | undefined {
  const heat = numberIn(temperature)
  if (heat !== null && !(heat >= 0 && heat <= 2)) return { field: 'temperature', words: 'From 0 to 2.' }
  const most = numberIn(maxTokens)
  if (most !== null && !(Number.isInteger(most) && most >= 1))
    return { field: 'maxTokens', words: 'A whole number, at least 1.' }
  return undefined
}
