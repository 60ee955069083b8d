import { fieldsIn } from '../../src/rules/record.ts'
import type { Fields } from './requests.ts'

/** Fields that are sent on purpose although the types of the SDK lack them. One that no request needs any more is an error. */
export interface Deviation {
  preset: string
  /** Names with dots between them; lists are looked into. */
  path: string
  why: string
}

const SAMPLING = 'Gone from the newest version of the API; the one that we ask for still has it for models before 4.7.'

export const DEVIATIONS: readonly Deviation[] = [
  { preset: 'anthropic', path: 'temperature', why: SAMPLING },
  { preset: 'anthropic', path: 'top_p', why: SAMPLING },
  { preset: 'deepseek', path: 'messages.reasoning_content', why: 'DeepSeek documents it for calls of tools.' },
  { preset: 'vllm', path: 'messages.reasoning_content', why: 'vLLM documents it for models that think.' },
  { preset: 'openrouter', path: 'messages.reasoning', why: 'OpenRouter documents it for models that think.' },
  { preset: 'openrouter', path: 'messages.content.cache_control', why: 'OpenRouter documents it for Claude models.' },
]

/** Whether there was such a field, which is gone now. */
export function removeField(body: Fields, path: string): boolean {
  const [name = '', ...rest] = path.split('.')
  if (rest.length === 0) return Object.hasOwn(body, name) && delete body[name]
  const removed = [body[name]].flat().map((inner) => removeField(fieldsIn(inner), rest.join('.')))
  return removed.includes(true)
}
