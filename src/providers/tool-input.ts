import { scanJson } from '../platform/json.ts'
import { JSON_LIMITS, TOOL_INPUT_SIZE_MAX } from '../rules/limits.ts'
import { isRecord } from '../rules/record.ts'

/** Reads the arguments of a tool's call, as an object. */
export type ToolInputOf = (written: string) => Record<string, unknown>

/**
 * For the calls of tools of one request. Their arguments must be an object in every wire format but OpenAI's, where they are
 * text. Models without a schema to hold them write what is no JSON, or leave it unfinished, and a conversation that contains
 * such a call must still be able to go on: the model is shown what was written.
 *
 * So it is with what is larger than a request may be, and with what comes after all arguments together have become too large: a
 * megabyte of small arrays would hold up every other stream of the process for as long as it is parsed.
 */
export function createToolInputs(): ToolInputOf {
  const left = { keys: TOOL_INPUT_SIZE_MAX, items: TOOL_INPUT_SIZE_MAX }
  return (written) => {
    if (written.trim() === '') return {}
    const bytes = Buffer.from(written)
    const scan = scanJson(bytes, {
      depthMax: JSON_LIMITS.depthMax,
      keysMax: Math.min(JSON_LIMITS.keysMax, left.keys),
      itemsMax: Math.min(JSON_LIMITS.itemsMax, left.items),
    })
    try {
      while (!scan.isOver()) scan.next()
      const input: unknown = JSON.parse(bytes.toString())
      if (isRecord(input)) return input
    } catch {
      // Shown as it was written.
    } finally {
      left.keys -= scan.seen().keys
      left.items -= scan.seen().items
    }
    return { arguments: written }
  }
}
