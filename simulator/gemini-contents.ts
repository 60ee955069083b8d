/** Google's checks of the turns of a conversation. */
import type { ChatRequest } from './dialect.ts'
import { geminiVersionOf } from './gemini-generation.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { assertSigned } from './thinking.ts'

type Turn = ChatRequest['messages'][number]
type Part = Record<string, unknown>

/** A part has one of these. */
const PART_KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode']

/** Google's word for a signature that somebody has lost. */
const SIGNATURE_LOST = 'skip_thought_signature_validator'

export function checkContents(contents: unknown, systemInstruction: unknown, model: string): Turn[] {
  if (!Array.isArray(contents) || contents.length === 0) {
    throw new Refusal(400, '* GenerateContentRequest.contents: contents is not specified')
  }
  const isSigned = (geminiVersionOf(model) ?? 0) >= 3
  const turns: Turn[] = []
  let callsBefore: Part[] = []
  if (systemInstruction != null) turns.push({ role: 'system', text: partsOf(systemInstruction).map(textOf).join('') })
  for (const content of contents) {
    const parts = partsOf(content)
    const role = isRecord(content) ? (content.role ?? 'user') : undefined
    if (role !== 'user' && role !== 'model') throw new Refusal(400, 'Please use a valid role: user, model.')
    const results = parts.filter((part) => part.functionResponse !== undefined)
    assertAnswered(callsBefore, results)
    for (const { thoughtSignature: signature } of parts) {
      if (signature !== undefined && signature !== SIGNATURE_LOST) assertSigned(signature)
    }
    callsBefore = parts.filter((part) => part.functionCall !== undefined)
    if (isSigned && callsBefore.length > 0 && callsBefore[0]?.thoughtSignature === undefined) {
      throw new Refusal(400, 'Function call is missing a thought_signature in functionCall parts.')
    }
    turns.push({ role: roleOf(role, results), text: parts.map(textOf).join('') })
  }
  // Words to go on from are refused since the models think.
  if (isSigned && turns.at(-1)?.role === 'assistant') {
    throw new Refusal(400, 'Please ensure that the last turn is of the user or a function response.')
  }
  return turns
}

function partsOf(content: unknown): Part[] {
  const parts = isRecord(content) ? content.parts : undefined
  if (!Array.isArray(parts) || parts.length === 0) throw new Refusal(400, 'contents.parts must not be empty.')
  for (const part of parts) {
    const kinds = isRecord(part) ? PART_KINDS.filter((kind) => part[kind] !== undefined) : []
    if (kinds.length !== 1) throw new Refusal(400, "required oneof field 'data' must have one initialized field")
  }
  return parts as Part[]
}

function assertAnswered(calls: readonly Part[], results: readonly Part[]): void {
  if (calls.length !== results.length) {
    throw new Refusal(
      400,
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    )
  }
  for (const { functionResponse: result } of results) {
    const isCalled = calls.some(
      ({ functionCall: call }) =>
        isRecord(call) && isRecord(result) && call.name === result.name && call.id === result.id,
    )
    if (!isCalled) throw new Refusal(400, 'Function response does not match a function call.')
    if (!isRecord(result) || !isRecord(result.response)) throw new Refusal(400, 'Invalid value at function_response')
  }
}

function roleOf(role: 'user' | 'model', results: readonly Part[]): string {
  if (results.length > 0) return 'tool'
  return role === 'model' ? 'assistant' : 'user'
}

function textOf(part: Part): string {
  if (typeof part.text === 'string') return part.text
  const said = isRecord(part.functionResponse) ? part.functionResponse.response : undefined
  return said === undefined ? '' : JSON.stringify(said)
}
