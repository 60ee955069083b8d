import { createHash } from 'node:crypto'
import type { ContentPart, Message } from './calls/message.ts'

/**
 * Images, recordings and files that come with a request have megabytes, and nobody reads them again: a note of the type, the
 * size and the SHA-256 stands in their place where messages are kept. It is a data: URL without data, because whoever reads
 * messages, in this version or in the one before, expects one there.
 */
export function withoutMedia(message: Message): Message {
  if (!Array.isArray(message.content)) return message
  return { ...message, content: message.content.map(withoutBytes) } as Message
}

function withoutBytes(part: ContentPart): ContentPart {
  switch (part.type) {
    case 'image_url':
      return { ...part, image_url: { ...part.image_url, url: noteOfUrl(part.image_url.url) } }
    case 'file':
      return { ...part, file: { ...part.file, file_data: noteOfUrl(part.file.file_data) } }
    case 'input_audio': {
      const { data, format } = part.input_audio
      return { ...part, input_audio: { format, data: noteOf(`audio/${format}`, data, 'base64') } }
    }
    default:
      return part
  }
}

const MEDIA_TYPE = /^data:([^;,]{0,100})/i

/** An address of something elsewhere stays. */
function noteOfUrl(url: string): string {
  const mediaType = MEDIA_TYPE.exec(url)?.[1]
  if (mediaType === undefined) return url
  const comma = url.indexOf(',')
  const isBase64 = /;base64$/i.test(url.slice(Math.max(0, comma - 7), comma))
  return noteOf(mediaType.toLowerCase(), url.slice(comma + 1), isBase64 ? 'base64' : 'utf8')
}

function noteOf(mediaType: string, data: string, encoding: 'base64' | 'utf8'): string {
  const sha256 = createHash('sha256').update(data, encoding).digest('hex')
  return `data:${mediaType};bytes=${Buffer.byteLength(data, encoding)};sha256=${sha256},`
}

const NOTE = /^data:([^;,]{0,100});bytes=(\d{1,12});sha256=[0-9a-f]{64},$/

/** Returns the type and size of inline media, from a note or from a message of the time when bytes were kept. Undefined: an address. */
export function inlineMediaOf(url: string): { mediaType: string; bytes: number } | undefined {
  const [, noted, bytes] = NOTE.exec(url) ?? []
  if (noted !== undefined) return { mediaType: noted, bytes: Number(bytes) }
  const [, mediaType] = /^data:([^;,]{0,100})[;,]/i.exec(url) ?? []
  return mediaType === undefined ? undefined : { mediaType, bytes: url.length }
}
