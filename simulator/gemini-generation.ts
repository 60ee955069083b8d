/** Google's checks of the configuration of an answer. They depend on the version in the model's name. */
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'

type Fields = Record<string, unknown>

const CONFIG_FIELDS = new Set([
  'stopSequences',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'candidateCount',
  'maxOutputTokens',
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'logprobs',
  'thinkingConfig',
  'mediaResolution',
])
const STOP_SEQUENCES_MAX = 5
const RESOLUTION = new Set<unknown>(['LOW', 'MEDIUM', 'HIGH'].map((word) => `MEDIA_RESOLUTION_${word}`))

/** `gemini-2.5-flash` is 2.5, a name without a version is the newest. Undefined: it is none of Google's. */
export function geminiVersionOf(model: string): number | undefined {
  const [, named, version = 'Infinity'] = /(gemini-)(\d+(?:\.\d+)?)?/.exec(model) ?? []
  return named === undefined ? undefined : Number(version)
}

/** Whether the model is to show what it thinks. */
export function checkGeneration(config: Fields, model: string, hasTools: boolean): boolean {
  assertNamesKnown(config, CONFIG_FIELDS)
  const version = geminiVersionOf(model)
  const { stopSequences: stops, presencePenalty, frequencyPenalty, mediaResolution } = config
  if (Array.isArray(stops) && stops.length > STOP_SEQUENCES_MAX) {
    throw new Refusal(400, `the number of stop_sequences must be from 0 to ${STOP_SEQUENCES_MAX}`)
  }
  require((version ?? 0) < 2.5 ||
    (presencePenalty === undefined && frequencyPenalty === undefined), 'Penalty is not enabled for this model')
  require(mediaResolution === undefined || RESOLUTION.has(mediaResolution), 'Invalid value at media_resolution')
  // Since the third version the two go together.
  require(!hasTools ||
    config.responseMimeType !== 'application/json' ||
    (version ?? 3) >= 3, "Function calling with a response mime type: 'application/json' is unsupported")
  return config.thinkingConfig === undefined ? false : checkThinking(config.thinkingConfig, model, version)
}

const THINKING_FIELDS = new Set(['thinkingBudget', 'thinkingLevel', 'includeThoughts'])

function checkThinking(config: unknown, model: string, version = Infinity): boolean {
  if (!isRecord(config)) throw new Refusal(400, 'Invalid value at thinking_config')
  assertNamesKnown(config, THINKING_FIELDS)
  const { thinkingBudget: budget, thinkingLevel: level, includeThoughts = false } = config
  require(version >= 2.5, 'Thinking is not supported by this model.')
  require(typeof includeThoughts === 'boolean', 'Invalid value at include_thoughts')
  require(budget === undefined || level === undefined, 'You can only set one of thinking budget and thinking level.')
  if (budget !== undefined) checkBudget(budget, model)
  if (level !== undefined) {
    require(version >= 3, 'Thinking level is not supported for this model.')
    require(levelsOf(model, version).has(level), 'This thinking level is not supported by this model.')
  }
  require(!includeThoughts || budget !== 0, 'include_thoughts is only enabled when thinking is enabled.')
  return includeThoughts === true
}

function levelsOf(model: string, version: number): Set<unknown> {
  if (!model.includes('pro')) return new Set(['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'])
  return new Set(version < 3.1 ? ['LOW', 'HIGH'] : ['LOW', 'MEDIUM', 'HIGH'])
}

/** The model decides by itself. */
const DYNAMIC = -1

function checkBudget(budget: unknown, model: string): void {
  const isPro = model.includes('pro')
  const [least, most] = isPro ? [128, 32_768] : [model.includes('lite') ? 512 : 1, 24_576]
  const isOff = budget === 0 && !isPro
  const isWithin = Number.isInteger(budget) && Number(budget) >= least && Number(budget) <= most
  require(isWithin || isOff || budget === DYNAMIC, `The thinking budget ${String(budget)} is invalid.`)
}

/** Google refuses a name that it does not know, wherever it stands. */
export function assertNamesKnown(fields: Fields, known: ReadonlySet<string>): void {
  const unknown = Object.keys(fields).find((name) => !known.has(name))
  require(unknown === undefined, `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`)
}

function require(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Refusal(400, message)
}
