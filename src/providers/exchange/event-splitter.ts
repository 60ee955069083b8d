import { createParser } from 'eventsource-parser'
import { EVENT_BYTES_MAX } from '../../rules/limits.ts'
import { UpstreamError } from '../provider.ts'

/** Cuts a body into the data of its server-sent events. */
export interface EventSplitter {
  /** Adds the events that end in these bytes. Throws for one that is too long, after those before it. */
  split(bytes: Buffer, events: string[]): void
  /** At the end of the body. Some leave out the blank line after the last event. One that was cut is none. */
  splitRest(events: string[]): void
}

const LF = 0x0a
const CR = 0x0d

/**
 * Nearly all reads of a socket bring whole events of one line of data each, and those are cut up right here. For anything else
 * there is the parser, which is exact and several times slower. It is made when it is first needed.
 */
export function createEventSplitter(): EventSplitter {
  let exact: EventSplitter | undefined
  let isAtStart = true
  /** All that came before were whole events. */
  let isBetweenEvents = true
  return {
    split(bytes, events) {
      const wasBetweenEvents = isBetweenEvents
      isBetweenEvents = endsEvent(bytes)
      if (!wasBetweenEvents || !isBetweenEvents || !addUsualEvents(bytes.toString('utf8'), events)) {
        exact ??= createExactSplitter({ isAtStart })
        exact.split(bytes, events)
      }
      isAtStart = false
    },
    splitRest(events) {
      if (!isBetweenEvents) exact?.splitRest(events)
    },
  }
}

function endsEvent(bytes: Buffer): boolean {
  const last = bytes.length - 1
  if (bytes[last] !== LF) return false
  return bytes[last - 1] === LF || (bytes[last - 1] === CR && bytes[last - 2] === LF)
}

const DATA = 'data: '
const NAME = 'event: '

/** Adds nothing, and says so, unless each event is one line of data, which its name may stand before. */
function addUsualEvents(bytesAsText: string, events: string[]): boolean {
  const text = bytesAsText.includes('\r') ? bytesAsText.replaceAll('\r\n', '\n') : bytesAsText
  if (text.includes('\r')) return false
  const before = events.length
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n\n', start)
    const line = text.startsWith(NAME, start) ? text.indexOf('\n', start) + 1 : start
    const isUsual = text.startsWith(DATA, line) && text.indexOf('\n', line) === end
    if (!isUsual || end - line > EVENT_BYTES_MAX) {
      events.length = before
      return false
    }
    events.push(text.slice(line + DATA.length, end))
    start = end + 2
  }
  return true
}

function createExactSplitter({ isAtStart }: { isAtStart: boolean }): EventSplitter {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let isTooBig = false
  let cut: string[] = []
  const parser = createParser({
    maxBufferSize: EVENT_BYTES_MAX,
    onEvent: (event) => cut.push(event.data),
    onError: (error) => (isTooBig ||= error.type === 'max-buffer-size-exceeded'),
  })
  // It takes a byte order mark off the first text that it gets. Elsewhere than at the start of a body, that is none.
  if (!isAtStart) parser.feed('\n')

  function feed(text: string, events: string[]): void {
    cut = events
    parser.feed(text)
    if (isTooBig) throw new UpstreamError('event_too_big')
  }

  return {
    split: (bytes, events) => feed(decoder.decode(bytes, { stream: true }), events),
    splitRest(events) {
      const rest: string[] = []
      feed(`${decoder.decode()}\n\n`, rest)
      events.push(...rest.filter(isWhole))
    },
  }
}

function isWhole(data: string): boolean {
  try {
    JSON.parse(data)
    return true
  } catch {
    return data === '[DONE]'
  }
}
