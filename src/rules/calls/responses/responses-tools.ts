import { ParleyError } from '../../errors.ts'
import { fieldsIn, isRecord } from '../../record.ts'
import type { ChatRequest } from '../chat-request.ts'
import { refusalOf } from './responses-input.ts'

/** The tools of a response, as chat writes them, and as they stand in its answer. */

const CHOICES: ReadonlySet<unknown> = new Set(['none', 'auto', 'required', undefined])
const CHOICE_WORDS =
  'must be none, auto, required, {"type":"function","name":…} or {"type":"allowed_tools","mode":…,"tools":[…]}'

interface ToolChoice {
  choice: unknown
  /** The names of those that may be called. Undefined: all. */
  allowed?: ReadonlySet<string>
}

/** Where only some may be called, the model is told of no others. */
export function toolChoiceOf(asked: unknown): ToolChoice {
  if (CHOICES.has(asked)) return { choice: asked }
  const { type, name, mode, tools } = fieldsIn(asked)
  if (type === 'function' && typeof name === 'string') return { choice: { type, function: { name } } }
  if (type !== 'allowed_tools' || !Array.isArray(tools)) throw refusalOf('tool_choice', CHOICE_WORDS)
  if (mode !== 'auto' && mode !== 'required') throw refusalOf('tool_choice.mode', 'must be auto or required')
  const names = tools.map((tool: unknown, n) => {
    const { type: kind, name: allowed } = fieldsIn(tool)
    if (kind === 'function' && typeof allowed === 'string') return allowed
    throw refusalOf(`tool_choice.tools[${n}]`, 'must be {"type":"function","name":…}')
  })
  return { choice: mode, allowed: new Set(names) }
}

export function toolsOf(tools: readonly unknown[], allowed: ReadonlySet<string> | undefined): object[] {
  const offered = tools.map((tool, n) => functionOf(tool, `tools[${n}]`))
  if (!allowed) return offered
  const chosen = offered.filter(({ function: { name } }) => allowed.has(String(name)))
  if (new Set(chosen.map(({ function: { name } }) => name)).size === allowed.size) return chosen
  throw new ParleyError('invalid_value', {
    message: 'tool_choice names a function that is not in tools.',
    param: 'tool_choice',
  })
}

function functionOf(tool: unknown, path: string) {
  if (!isRecord(tool)) throw refusalOf(path, 'must be an object')
  const { type, name, description, parameters, strict } = tool
  if (type !== 'function') throw refusalOf(`${path}.type`, 'must be "function": provider-run tools are not available')
  return {
    type,
    function: {
      name,
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parameters }),
      ...(strict == null ? {} : { strict }),
    },
  }
}

/** Returns the tools that the model is told about, with what it is told. */
export function echoOfTools(tools: NonNullable<ChatRequest['tools']>): object[] {
  return tools.map(({ type, function: { name, description, parameters, strict } }) => ({
    type,
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(strict === undefined ? {} : { strict }),
  }))
}

/** Takes a choice that was read before, so the names in it are those of tools. */
export function echoOfChoice(asked: unknown): unknown {
  const { choice, allowed } = toolChoiceOf(asked)
  if (allowed) {
    const tools = [...allowed].map((name) => ({ type: 'function', name }))
    return { type: 'allowed_tools', mode: choice, tools }
  }
  const { type, name } = fieldsIn(asked)
  return typeof name === 'string' ? { type, name } : (choice ?? 'auto')
}
