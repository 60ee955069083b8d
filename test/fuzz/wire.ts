/** Reads what a server has sent on a connection, strictly: what is not HTTP/1.1 is a complaint. */
import type { HttpAnswer } from './answers.ts'

export interface Read {
  answers: HttpAnswer[]
  /** Undefined: everything was whole answers. */
  problem: string | undefined
}

const HEAD_END = '\r\n\r\n'

/** `isHead`: of which of the answers there is a head alone. */
export function answersIn(bytes: Buffer, isHead: (n: number) => boolean): Read {
  const text = bytes.toString('latin1')
  const answers: HttpAnswer[] = []
  let at = 0
  while (at < text.length) {
    const end = text.indexOf(HEAD_END, at)
    if (end === -1) return { answers, problem: `a head without an end: ${text.slice(at, at + 100)}` }
    const [line = '', ...lines] = text.slice(at, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(line)?.[1] ?? NaN)
    if (Number.isNaN(status)) return { answers, problem: `not a status line: ${line.slice(0, 100)}` }
    const headers = headersOf(lines)
    if (!headers) return { answers, problem: `not headers: ${lines.join(' | ').slice(0, 200)}` }
    at = end + HEAD_END.length
    if (status < 200) continue
    const body = bodyAt(text, at, headers, status === 204 || status === 304 || isHead(answers.length))
    if (body === undefined) return { answers, problem: `a body that was cut off, of ${line}` }
    answers.push({ status, headers, body: Buffer.from(body.text, 'latin1').toString() })
    at = body.end
  }
  return { answers, problem: undefined }
}

function headersOf(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value = ''] = /^([\w-]+): ?(.*)$/.exec(line) ?? []
    if (name === undefined) return undefined
    headers[name.toLowerCase()] = value
  }
  return headers
}

function bodyAt(text: string, at: number, headers: Record<string, string>, isEmpty: boolean) {
  if (isEmpty) return { text: '', end: at }
  if (headers['transfer-encoding'] === 'chunked') return chunksAt(text, at)
  const length = headers['content-length']
  // It ends with the connection.
  if (length === undefined) return { text: text.slice(at), end: text.length }
  const end = at + Number(length)
  return end > text.length ? undefined : { text: text.slice(at, end), end }
}

function chunksAt(text: string, from: number): { text: string; end: number } | undefined {
  let whole = ''
  for (let at = from; ;) {
    const lineEnd = text.indexOf('\r\n', at)
    const size = lineEnd === -1 ? NaN : parseInt(text.slice(at, lineEnd), 16)
    const end = lineEnd + 2 + size
    if (Number.isNaN(size) || text.slice(end, end + 2) !== '\r\n') return undefined
    if (size === 0) return { text: whole, end: end + 2 }
    whole += text.slice(lineEnd + 2, end)
    at = end + 2
  }
}
