import { fieldsIn } from '../../src/rules/record.ts'
import type { Fields } from './requests.ts'
import type { Target } from './targets.ts'

/** Fields that are sent on purpose although the types of the SDK lack them. One that no request needs any more is an error. */
export interface Deviation {
  about(target: Target): boolean
  /** Names with dots between them; lists are looked into. */
  path: string
  why: string
}

const SAMPLING = 'Gone from the newest version of the API; the one that we ask for still has it for models before 4.7.'

const isAnthropic: Deviation['about'] = ({ kind }) => kind === 'anthropic'
const thinksIn =
  (field: string): Deviation['about'] =>
  ({ settings }) =>
    settings?.reasoningField === field

export const DEVIATIONS: readonly Deviation[] = [
  { about: isAnthropic, path: 'temperature', why: SAMPLING },
  { about: isAnthropic, path: 'top_p', why: SAMPLING },
  {
    about: thinksIn('reasoning_content'),
    path: 'messages.reasoning_content',
    why: 'DeepSeek documents it for calls of tools, and vLLM for models that think.',
  },
  { about: thinksIn('reasoning'), path: 'messages.reasoning', why: 'OpenRouter documents it for models that think.' },
  {
    about: ({ settings }) => settings?.cacheControl === true,
    path: 'messages.content.cache_control',
    why: 'OpenRouter documents it for Claude models.',
  },
]

/** Whether there was such a field, which is gone now. */
export function removeField(body: Fields, path: string): boolean {
  const [name = '', ...rest] = path.split('.')
  if (rest.length === 0) return Object.hasOwn(body, name) && delete body[name]
  const removed = [body[name]].flat().map((inner) => removeField(fieldsIn(inner), rest.join('.')))
  return removed.includes(true)
}
