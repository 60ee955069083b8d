import { ParleyError } from '../../errors.ts'
import { isRecord } from '../../record.ts'
import { text as wellFormed } from '../message.ts'

/**
 * The items of a Responses request as the messages of a chat. What stands in them is checked where all messages are; here is
 * checked only what a message has no place for. Words of the assistant, its calls of tools and its thoughts that follow each
 * other are one message: they were one answer.
 */
export interface TurnedInput {
  messages: object[]
  /** Where in the request the field of a message came from, as a path of each. */
  pathOf(messagePath: string): string
}

/** The items that a message was made from. */
interface Origin {
  at: string
  content: string
  reasoning?: string | undefined
  calls?: readonly string[]
}

export function refusalOf(path: string, sentence: string): ParleyError {
  return new ParleyError('invalid_value', { message: `${path} ${sentence}.`, param: path })
}

export function turnInput(input: string | readonly unknown[], instructions: string | undefined): TurnedInput {
  const messages: object[] = []
  const origins: Origin[] = []
  const add = (message: object, origin: Origin) => {
    messages.push(message)
    origins.push(origin)
  }
  if (instructions !== undefined)
    add({ role: 'system', content: instructions }, { at: 'instructions', content: 'instructions' })
  if (typeof input === 'string') add({ role: 'user', content: input }, { at: 'input', content: 'input' })
  else addItems(input, add)
  return { messages, pathOf: (path) => pathIn(origins, path) }
}

type Add = (message: object, origin: Origin) => void

function addItems(items: readonly unknown[], add: Add): void {
  let turn = createTurn()
  const endTurn = () => {
    turn.end(add)
    turn = createTurn()
  }
  for (const [n, item] of items.entries()) {
    const at = `input[${n}]`
    if (!isRecord(item)) throw refusalOf(at, 'must be an object')
    const type = item.type ?? ('role' in item ? 'message' : undefined)
    if (type === 'reasoning') turn.think(item, at)
    else if (type === 'function_call') turn.call(item, at)
    else if (type === 'message' && item.role === 'assistant') {
      // Two that stand side by side were said one after the other.
      if (turn.endsWithWords) endTurn()
      turn.say(item.content, `${at}.content`)
    } else {
      endTurn()
      add(...otherMessageOf(type, item, at))
    }
  }
  endTurn()
}

const ROLES: ReadonlySet<unknown> = new Set(['user', 'system', 'developer'])

function otherMessageOf(type: unknown, item: Record<string, unknown>, at: string): [object, Origin] {
  if (type === 'message') {
    const { role } = item
    if (!ROLES.has(role)) throw refusalOf(`${at}.role`, 'must be user, assistant, system or developer')
    const partOf = role === 'user' ? userPartOf : textPartOf
    const content = contentOf(item.content, `${at}.content`, partOf)
    return [
      { role, content },
      { at, content: `${at}.content` },
    ]
  }
  if (type === 'function_call_output') {
    const content = contentOf(item.output, `${at}.output`, textPartOf)
    return [
      { role: 'tool', tool_call_id: item.call_id, content },
      { at, content: `${at}.output` },
    ]
  }
  if (type === 'item_reference')
    throw refusalOf(
      at,
      'is an item_reference, but Parley stores no items to refer to: send the item itself, as SDKs do with store: false',
    )
  throw refusalOf(
    `${at}.type`,
    'must be message, function_call, function_call_output or reasoning: provider-run tools are not available',
  )
}

type PartOf = (part: Record<string, unknown>, path: string) => object

/** Turns each part of a list. Content that is neither a text nor a list is left to the check of messages. */
function contentOf(content: unknown, path: string, partOf: PartOf): unknown {
  if (!Array.isArray(content)) return content
  return content.map((part: unknown, n) => {
    if (!isRecord(part)) throw refusalOf(`${path}[${n}]`, 'must be an object')
    return partOf(part, `${path}[${n}]`)
  })
}

function textPartOf({ type, text }: Record<string, unknown>, path: string): object {
  if (type !== 'input_text') throw refusalOf(`${path}.type`, 'must be input_text')
  return { type: 'text', text }
}

function userPartOf(part: Record<string, unknown>, path: string): object {
  switch (part.type) {
    case 'input_text':
      return textPartOf(part, path)
    case 'input_image':
      if (part.file_id != null)
        throw refusalOf(`${path}.file_id`, 'is not supported: send image_url, an address or a data: URL')
      return {
        type: 'image_url',
        image_url: { url: part.image_url ?? undefined, detail: part.detail ?? undefined },
      }
    case 'input_file':
      for (const name of ['file_id', 'file_url'])
        if (part[name] != null) throw refusalOf(`${path}.${name}`, 'is not supported: send file_data, a data: URL')
      return {
        type: 'file',
        file: { file_data: part.file_data ?? undefined, filename: part.filename ?? undefined },
      }
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    default:
      throw refusalOf(`${path}.type`, 'must be input_text, input_image, input_file or input_audio')
  }
}

/** One answer of the assistant, from all the items that it came in. */
function createTurn() {
  let words: string | undefined
  let refusal: string | undefined
  let thoughts = ''
  let signature: unknown
  let endsWithWords = false
  const calls: object[] = []
  const origin = { at: '', content: '', reasoning: undefined as string | undefined, calls: [] as string[] }

  function addPart(part: unknown, path: string): void {
    if (!isRecord(part)) throw refusalOf(path, 'must be an object')
    if (part.type === 'refusal') refusal = (refusal ?? '') + textIn(part.refusal, `${path}.refusal`)
    else if (part.type === 'output_text' || part.type === 'input_text')
      words = (words ?? '') + textIn(part.text, `${path}.text`)
    else throw refusalOf(`${path}.type`, 'must be output_text or refusal')
  }

  return {
    get endsWithWords() {
      return endsWithWords
    },
    say(content: unknown, path: string): void {
      endsWithWords = true
      origin.content ||= path
      origin.at ||= path.replace(/\.content$/, '')
      if (!Array.isArray(content)) words = (words ?? '') + textIn(content, path)
      else for (const [n, part] of content.entries()) addPart(part, `${path}[${n}]`)
    },
    call({ call_id, name, arguments: given }: Record<string, unknown>, at: string): void {
      endsWithWords = false
      origin.at ||= at
      origin.calls.push(at)
      calls.push({ id: call_id, type: 'function', function: { name, arguments: given } })
    },
    think(item: Record<string, unknown>, at: string): void {
      endsWithWords = false
      origin.at ||= at
      origin.reasoning = at
      thoughts += thoughtsIn(item, at)
      signature = item.encrypted_content ?? signature
    },
    /** Thoughts alone led to nothing that a model could go on from. */
    end(add: Add): void {
      if (words === undefined && refusal === undefined && calls.length === 0) return
      const message = {
        role: 'assistant',
        content: words ?? null,
        ...(refusal === undefined ? {} : { refusal }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
        ...(signature === undefined ? {} : { reasoning_signature: signature }),
      }
      add(message, { ...origin, content: origin.content || `${origin.at}.content` })
    },
  }
}

/** In the parts of a summary, or whole, as models say it whose thoughts are not kept from anybody. */
function thoughtsIn({ summary, content }: Record<string, unknown>, at: string): string {
  const [parts, path] = Array.isArray(summary) && summary.length > 0 ? [summary, 'summary'] : [content ?? [], 'content']
  if (!Array.isArray(parts)) throw refusalOf(`${at}.${path}`, 'must be an array')
  return parts
    .map((part: unknown, n) => textIn(isRecord(part) ? part.text : undefined, `${at}.${path}[${n}].text`))
    .join('')
}

/** Checked one by one: of texts that have become one, nobody could say which was wrong. */
function textIn(value: unknown, path: string): string {
  const result = wellFormed.safeParse(value)
  if (result.success) return result.data
  if (value === undefined) throw refusalOf(path, 'is required')
  throw refusalOf(
    path,
    typeof value === 'string' ? 'must be well-formed text without NUL characters' : 'must be a string',
  )
}

const RENAMED: readonly (readonly [RegExp, string])[] = [
  [/\.image_url\.url$/, '.image_url'],
  [/\.image_url\.detail$/, '.detail'],
  [/\.file(\.\w+)?$/, '$1'],
]

function pathIn(origins: readonly Origin[], path: string): string {
  const [, index, rest = ''] = /^messages\[(\d+)\](.*)$/.exec(path) ?? []
  const origin = origins[Number(index)]
  if (index === undefined || !origin) return path.replace(/^messages/, 'input')
  const [, call, ofCall = ''] = /^\.tool_calls\[(\d+)\](.*)$/.exec(rest) ?? []
  if (call !== undefined)
    return (origin.calls?.[Number(call)] ?? origin.at) + ofCall.replace('.id', '.call_id').replace('.function', '')
  if (rest === '.reasoning_signature') return `${origin.reasoning ?? origin.at}.encrypted_content`
  if (rest === '.tool_call_id') return `${origin.at}.call_id`
  if (!rest.startsWith('.content')) return origin.at + rest
  return RENAMED.reduce(
    (own, [pattern, name]) => own.replace(pattern, name),
    origin.content + rest.slice('.content'.length),
  )
}
