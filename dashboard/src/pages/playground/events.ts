/** Reads the parts of an answer from the gateway's events. Events that arrive split are put together first. */
export interface EventReader {
  /** The data of every event that is complete now. */
  read(text: string): string[]
}

export function createEventReader(): EventReader {
  let rest = ''
  return {
    read(text) {
      const blocks = (rest + text).replaceAll('\r\n', '\n').split('\n\n')
      rest = blocks.pop() ?? ''
      return blocks.map(dataOf).filter((data) => data !== '')
    },
  }
}

function dataOf(block: string): string {
  return block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n')
}

export interface Refusal {
  code: string
  message: string
  requestId?: string | null
}

/** The parts of one event that a chat shows. */
export interface Piece {
  id?: string
  text?: string
  refusal?: Refusal
  isEnd?: boolean
}

interface Wire {
  id?: string
  error?: Refusal
  choices?: { delta?: Content; message?: Content }[]
}

interface Content {
  content?: string | null
  refusal?: string | null
}

export function pieceOf(data: string): Piece {
  if (data === '[DONE]') return { isEnd: true }
  const event = parsed(data)
  if (event === undefined) return {}
  if (event.error) return { refusal: event.error }
  const choice = event.choices?.[0]
  const content = choice?.delta ?? choice?.message
  const text = content?.content ?? content?.refusal ?? ''
  return { ...(event.id && { id: event.id }), text, ...(choice?.message && { isEnd: true }) }
}

function parsed(data: string): Wire | undefined {
  try {
    return JSON.parse(data) as Wire
  } catch {
    return undefined
  }
}
