import type { Sponsored } from '../../rules/calls/chunk.ts'

/** The items of a response, each with the events that tell of it: it opens, is added to, and ends. */

/** Told of each event of the response, with fields that are whole only at that moment. */
export type WriteEvent = (type: string, fields: object) => void

/** Where an item stands in the output, and what its id ends with. */
export interface Slot {
  at: number
  id: string
  write: WriteEvent
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export interface OpenItem {
  readonly item: MessageItem | ReasoningItem | CallItem
  end(status: ItemStatus): void
}

interface TextPart {
  type: 'output_text'
  annotations: []
  logprobs: unknown[]
  text: string
  sponsored?: Sponsored
}

interface RefusalPart {
  type: 'refusal'
  refusal: string
}

interface MessageItem {
  id: string
  type: 'message'
  status: ItemStatus
  role: 'assistant'
  content: (TextPart | RefusalPart)[]
}

interface ReasoningItem {
  id: string
  type: 'reasoning'
  summary: { type: 'summary_text'; text: string }[]
  encrypted_content?: string
}

interface CallItem {
  id: string
  type: 'function_call'
  status: ItemStatus
  call_id: string
  name: string
  arguments: string
}

function opened(item: OpenItem['item'], { at, write }: Slot) {
  write('response.output_item.added', { output_index: at, item })
  return {
    place: { item_id: item.id, output_index: at },
    done: () => write('response.output_item.done', { output_index: at, item }),
  }
}

export type OpenMessage = ReturnType<typeof openMessage>

/** Words and refusals are parts of one message, whichever of them comes first. */
export function openMessage(slot: Slot) {
  const { write } = slot
  const item: MessageItem = {
    id: `msg_${slot.id}`,
    type: 'message',
    status: 'in_progress',
    role: 'assistant',
    content: [],
  }
  const { place, done } = opened(item, slot)
  const placeOfPart = () => ({ ...place, content_index: item.content.length - 1 })

  function endPart(): void {
    const part = item.content.at(-1)
    if (!part) return
    if (part.type === 'refusal') write('response.refusal.done', { ...placeOfPart(), refusal: part.refusal })
    else write('response.output_text.done', { ...placeOfPart(), text: part.text, logprobs: part.logprobs })
    write('response.content_part.done', { ...placeOfPart(), part })
  }

  function open<T extends TextPart | RefusalPart>(part: T): T {
    endPart()
    item.content.push(part)
    write('response.content_part.added', { ...placeOfPart(), part })
    return part
  }

  return {
    item,
    say(text: string, logprobs: readonly unknown[], sponsored?: Sponsored): void {
      const last = item.content.at(-1)
      const fresh = { type: 'output_text' as const, annotations: [] as [], logprobs: [], text: '' }
      const part: TextPart = last?.type === 'output_text' ? last : open<TextPart>(fresh)
      part.text += text
      part.logprobs.push(...logprobs)
      if (sponsored) part.sponsored = sponsored
      const more = sponsored && { sponsored }
      write('response.output_text.delta', { ...placeOfPart(), delta: text, logprobs, ...more })
    },
    refuse(text: string): void {
      const last = item.content.at(-1)
      const part = last?.type === 'refusal' ? last : open<RefusalPart>({ type: 'refusal', refusal: '' })
      part.refusal += text
      write('response.refusal.delta', { ...placeOfPart(), delta: text })
    },
    end(status: ItemStatus): void {
      endPart()
      item.status = status
      done()
    },
  }
}

export type OpenReasoning = ReturnType<typeof openReasoning>

export function openReasoning(slot: Slot) {
  const { write } = slot
  const item: ReasoningItem = { id: `rs_${slot.id}`, type: 'reasoning', summary: [] }
  const { place, done } = opened(item, slot)
  const placeOfPart = { ...place, summary_index: 0 }

  function open() {
    const part = { type: 'summary_text' as const, text: '' }
    item.summary.push(part)
    write('response.reasoning_summary_part.added', { ...placeOfPart, part })
    return part
  }

  return {
    item,
    think(text: string): void {
      const part = item.summary[0] ?? open()
      part.text += text
      write('response.reasoning_summary_text.delta', { ...placeOfPart, delta: text })
    },
    sign(signature: string): void {
      item.encrypted_content = signature
    },
    end(): void {
      const [part] = item.summary
      if (part) {
        write('response.reasoning_summary_text.done', { ...placeOfPart, text: part.text })
        write('response.reasoning_summary_part.done', { ...placeOfPart, part })
      }
      done()
    },
  }
}

export type OpenCall = ReturnType<typeof openCall>

export function openCall(slot: Slot, callId: string, name: string) {
  const { write } = slot
  const item: CallItem = {
    id: `fc_${slot.id}`,
    type: 'function_call',
    status: 'in_progress',
    call_id: callId,
    name,
    arguments: '',
  }
  const { place, done } = opened(item, slot)
  return {
    item,
    add(moreOfName: string, given: string): void {
      item.name += moreOfName
      item.arguments += given
      if (given !== '') write('response.function_call_arguments.delta', { ...place, delta: given })
    },
    end(status: ItemStatus): void {
      write('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments })
      item.status = status
      done()
    },
  }
}
