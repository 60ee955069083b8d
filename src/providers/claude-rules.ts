import { stopsOf, type ChatRequest } from '../rules/calls/chat-request.ts'
import type { RouteField } from '../rules/calls/route-fields.ts'
import { mapSchema, type Schema } from './json-schema.ts'
import { claudeTakesSampling } from './reasoning-effort.ts'

/** What Claude models refuse, whoever serves them. */

/** One is the default of both, and newer models refuse these fields altogether: what changes nothing is left out. */
export function samplingOf(value: number | undefined): number | undefined {
  return value === 1 ? undefined : value
}

export function unhonouredByClaude(request: ChatRequest, upstreamModel: string): RouteField | undefined {
  const { temperature = 1 } = request
  const hasTemperature = samplingOf(temperature) !== undefined
  const hasTopP = samplingOf(request.top_p) !== undefined
  const takesSampling = claudeTakesSampling(upstreamModel)
  // OpenAI's scale ends at 2, Anthropic's at 1: a clamped temperature would be another one than was asked for.
  if (hasTemperature && (!takesSampling || temperature > 1)) return 'temperature'
  // Models since Claude 4.5 refuse the two together.
  if (hasTopP && (!takesSampling || hasTemperature)) return 'top_p'
  return stopsOf(request).some((stop) => stop.trim() === '') ? 'stop' : undefined
}

const BOUNDS = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])

/** Without parameters, and still to be held to: such an object allows nothing unnamed. */
const NO_PARAMETERS = { properties: {}, additionalProperties: false }

/** Bounds are refused in a schema that is held to. The model is told of them in words instead. */
export function withoutBounds(schema: unknown): Schema {
  const told = mapSchema(schema ?? NO_PARAMETERS, (part) => {
    const entries = Object.entries(part)
    const bounds = entries.filter(
      ([keyword, bound]) => BOUNDS.has(keyword) && !(keyword === 'minItems' && isZeroOrOne(bound)),
    )
    if (bounds.length === 0) return part
    const words = bounds.map(([keyword, bound]) => `${keyword}: ${JSON.stringify(bound)}`).join(', ')
    const description = typeof part.description === 'string' ? `${part.description} (${words})` : words
    return { ...Object.fromEntries(entries.filter((entry) => !bounds.includes(entry))), description }
  })
  return told as Schema
}

function isZeroOrOne(value: unknown): boolean {
  return value === 0 || value === 1
}
