import type { ContentChunk, FinishReason, RecommendationChunk } from '../../rules/calls/chunk.ts'
import {
  openCall,
  openMessage,
  openReasoning,
  type OpenCall,
  type OpenItem,
  type OpenMessage,
  type OpenReasoning,
  type Slot,
  type WriteEvent,
} from './responses-items.ts'

/**
 * The items of a response, from the chunks of an answer: an item opens when something for it comes, in the order in which
 * they begin. Words end where something else begins, and so do thoughts, unless their proof is wanted: that comes when all is
 * over, and SDKs send thoughts back only together with it. Calls of tools may come in turns, and end with the answer.
 *
 * The same code makes the items of a stream and of one body, so that both are the same response.
 */
export interface Output {
  add(chunk: ContentChunk | RecommendationChunk): void
  /** Closes what is open. */
  finish(reason: FinishReason): void
  /** It goes no further. */
  abandon(): void
  items(): readonly object[]
}

export interface OutputOptions {
  /** The call's id without its prefix: the same answer has the same ids whenever it is given. */
  id: string
  showsReasoning: boolean
  showsSignature: boolean
}

export function createOutput({ id, showsReasoning, showsSignature }: OutputOptions, write: WriteEvent): Output {
  const all: OpenItem[] = []
  const openItems = new Set<OpenItem>()
  let message: OpenMessage | undefined
  let thoughts: OpenReasoning | undefined
  /** The last that began, which an answer that is cut off was cut off in. */
  let last: OpenItem | undefined

  function begin<T extends OpenItem>(open: (slot: Slot) => T): T {
    const begun = open({ at: all.length, id: `${id}_${all.length}`, write })
    all.push(begun)
    openItems.add(begun)
    last = begun
    return begun
  }

  function end(ended: OpenItem | undefined): void {
    if (ended && openItems.delete(ended)) ended.end('completed')
    if (ended === message) message = undefined
    if (ended === thoughts) thoughts = undefined
  }

  function messageFor(): OpenMessage {
    if (!showsSignature) end(thoughts)
    return (message ??= begin(openMessage))
  }

  function thoughtsFor(): OpenReasoning {
    if (!thoughts) end(message)
    return (thoughts ??= begin(openReasoning))
  }

  /** A recommendation may still follow what was said, so that stays open. */
  function sign(signature: string): void {
    const before = last
    thoughts ??= begin(openReasoning)
    thoughts.sign(signature)
    last = before
  }

  const calls = createCalls((callId, name) => {
    if (!showsSignature) end(thoughts)
    end(message)
    return begin((slot) => openCall(slot, callId, name))
  })

  return {
    add(chunk) {
      if ('text' in chunk && chunk.text === '') return
      if (chunk.type === 'text') messageFor().say(chunk.text, chunk.logprobs ?? [])
      else if (chunk.type === 'recommendation') messageFor().say(chunk.text, [], chunk.sponsored)
      else if (chunk.type === 'refusal') messageFor().refuse(chunk.text)
      else if (chunk.type === 'tool_call') calls.add(chunk)
      else if (chunk.type === 'reasoning') {
        if (showsReasoning) thoughtsFor().think(chunk.text)
      } else if (chunk.type === 'reasoning_signature' && showsSignature) sign(chunk.signature)
    },
    finish(reason) {
      calls.openRest()
      const isCut = reason === 'length' || reason === 'content_filter'
      for (const open of openItems) open.end(isCut && open === last ? 'incomplete' : 'completed')
      openItems.clear()
    },
    abandon() {
      for (const { item } of openItems) if ('status' in item) item.status = 'incomplete'
    },
    items: () => all.map(({ item }) => item),
  }
}

interface PendingCall {
  callId: string
  name: string
  given: string
  open?: OpenCall
}

/** The calls of an answer. One is told of when its name is known. */
function createCalls(open: (callId: string, name: string) => OpenCall) {
  const calls = new Map<number, PendingCall>()

  function tell(call: PendingCall): void {
    call.open = open(call.callId, call.name)
    call.open.add('', call.given)
  }

  return {
    add({ index, id = '', name = '', arguments: given }: ContentChunk & { type: 'tool_call' }): void {
      const call = calls.get(index) ?? { callId: '', name: '', given: '' }
      calls.set(index, call)
      if (call.open) return call.open.add(name, given)
      call.callId ||= id
      call.name += name
      call.given += given
      if (call.name !== '') tell(call)
    },
    openRest(): void {
      for (const call of calls.values()) if (!call.open) tell(call)
    },
  }
}
