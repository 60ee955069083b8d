import { isRecord } from '../record.ts'

/** The gateway's own: what is asked, how it is answered, and how much of it there can be, which is what holds are sized by. */
const OF_THE_GATEWAY = [
  'model',
  'messages',
  'contents',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
]
const OF_THE_GATEWAY_AT_GOOGLE = ['candidateCount', 'maxOutputTokens']
const CHARACTERS_MAX = 16_384

/** Why this cannot be sent with every request of a route, as a sentence. Undefined: it can. */
export function extraBodyProblemOf(value: unknown): string | undefined {
  if (!isRecord(value)) return `The extra body is not a JSON object. Write it like {"reasoning_effort":"none"}.`
  const text = JSON.stringify(value)
  if (text.length > CHARACTERS_MAX) return `The extra body has ${text.length} characters, at most ${CHARACTERS_MAX}.`
  if (/\\u(?:0000|d[89a-f])/i.test(text)) return 'The extra body has characters that cannot be stored. Leave them out.'
  const { generationConfig } = value
  const taken =
    OF_THE_GATEWAY.find((name) => Object.hasOwn(value, name)) ??
    OF_THE_GATEWAY_AT_GOOGLE.find((name) => isRecord(generationConfig) && Object.hasOwn(generationConfig, name))
  return (
    taken && `The extra body must not set ${taken}: the gateway sets it itself, and money hangs on it. Leave it out.`
  )
}
