/** Changes to the events of a stream that make them what real providers were seen to send. */
import type { StreamEvent } from './dialect.ts'

type Kind = StreamEvent['kind']

/** Undefined: the event is left out. */
export type Edit = (json: string, kind?: Kind) => string | undefined

interface Event {
  /** In OpenAI's format. */
  choices?: { delta: Delta; finish_reason: string | null }[]
  /** In Gemini's. */
  candidates?: { content: unknown; finishReason?: string }[]
}

interface Delta {
  content?: unknown
  reasoning_content?: string
  tool_calls?: { id?: string; function: { arguments?: string } }[]
}

/** `edit` changes the event in place; false leaves it out. */
function editing(edit: (event: Event, kind: Kind | undefined) => boolean | void): Edit {
  return (json, kind) => {
    // An end marker is no JSON.
    if (!json.startsWith('{')) return json
    const event = JSON.parse(json) as Event
    return edit(event, kind) === false ? undefined : JSON.stringify(event)
  }
}

function editingDelta(edit: (delta: Delta) => void): Edit {
  return editing(({ choices }) => choices?.forEach(({ delta }) => edit(delta)))
}

export const inParts = editingDelta((delta) => {
  const { content, reasoning_content: thought } = delta
  if (content) delta.content = [{ type: 'text', text: content }]
  if (thought === undefined) return
  delete delta.reasoning_content
  delta.content = [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }]
})

export const withoutFinish = editing(({ choices }) => {
  for (const choice of choices ?? []) choice.finish_reason = null
})

export const withoutArguments = editingDelta((delta) => {
  for (const call of delta.tool_calls ?? []) delete call.function.arguments
})

export const withoutIds = editingDelta((delta) => {
  for (const call of delta.tool_calls ?? []) delete call.id
})

/** Nothing of the reply comes, and its end says why. */
export function endedBy(finishReason: string, parts: readonly unknown[] = []): Edit {
  return editing(({ candidates: [candidate] = [] }, kind) => {
    if (kind !== 'done' || !candidate) return false
    candidate.content = { parts, role: 'model' }
    candidate.finishReason = finishReason
    return true
  })
}
