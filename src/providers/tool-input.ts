import { parseJson } from '../platform/json.ts'
import { JSON_DEPTH_MAX, JSON_KEYS_MAX } from '../rules/limits.ts'
import { isRecord } from '../rules/record.ts'

/**
 * The arguments of a call of a tool, which must be an object in every wire format but OpenAI's, where they are text.
 * Models without a schema to hold them write what is no JSON, or leave it unfinished, and a conversation that contains
 * such a call must still be able to go on: the model is shown what was written.
 */
export function toolInputOf(written: string): Record<string, unknown> {
  if (written.trim() === '') return {}
  try {
    const input = parseJson(Buffer.from(written), { depthMax: JSON_DEPTH_MAX, keysMax: JSON_KEYS_MAX })
    if (isRecord(input)) return input
  } catch {
    // Shown as it was written.
  }
  return { arguments: written }
}
