/**
 * How a caller selects behaviour. Each option is taken from the first place that has it:
 *
 * 1. the header `x-simulate: tokens=50&ttft=200&fault=U6`
 * 2. the model name after a question mark: `sim?tokens=50&ttft=200`
 * 3. a directive in the last user message: `[[sim tokens=50 ttft=200 fault=U6]]`
 *
 * | option    | meaning                                                                | default             |
 * |-----------|------------------------------------------------------------------------|---------------------|
 * | tokens    | length of the reply                                                    | 20 to 80, by prompt |
 * | dimensions| length of vectors, whatever was asked for                              | 8, or as asked      |
 * | ttft      | ms before the first byte, headers included                             | 0                   |
 * | gap       | ms between chunks; a JSON reply takes as long as the stream would have | 0                   |
 * | chunk     | tokens per chunk                                                       | 1                   |
 * | cached    | cached prompt tokens to report                                         | 0                   |
 * | written   | prompt tokens to report as written to the cache                        | 0                   |
 * | reasoning | reasoning tokens to report; they count as completion tokens            | those of `thoughts` |
 * | thoughts  | what the model thinks before it answers, URL-encoded                   | little, if asked to |
 * | asked     | think only if the request asks for it                                  |                     |
 * | text      | the whole reply, URL-encoded                                           |                     |
 * | talk      | reply to what was asked: greetings, headlines, advice (talk.ts)         |                     |
 * | echo      | reply with the last user message                                       |                     |
 * | utf8      | reply with emoji, CJK and combining characters                         |                     |
 * | tool      | call this tool of the request, unless a result of it was just given    |                     |
 * | newline   | `lf`, `crlf` or `cr` in the event stream                               | lf                  |
 * | split     | write the body in pieces of this many bytes                            | 0, whole events     |
 * | finish    | what the provider calls the end of the reply, in its own words         | by the reply        |
 * | error     | an error event that says this, URL-encoded, in place of the end        |                     |
 * | status    | answer with this status and an error body                              |                     |
 * | fault     | misbehave; faults.ts lists the names                                   |                     |
 * | after     | content chunks before a fault that strikes midway                      | 3                   |
 * | times     | only the first so many requests with this model and script misbehave   | all of them         |
 * | calls     | call the tool so many times at once                                    | 1                   |
 * | impatient | ms after which it gives up on a peer that does not read                | never               |
 * | factor    | count each token of text so many times, as another tokenizer would     | 1                   |
 * | untold    | count reasoning as completion, without telling it apart                |                     |
 * | mark      | what to remember the call by                                           |                     |
 *
 * A result of a tool that says `[[sim again]]` makes the model call the tool once more.
 */
import { Refusal } from './refusal.ts'
import { tokensIn } from './reply.ts'

export interface Script {
  readonly tokens: number | undefined
  readonly dimensions: number | undefined
  readonly ttftMs: number
  readonly gapMs: number
  readonly chunkTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly thoughts: string | undefined
  readonly asked: boolean
  readonly text: string | undefined
  readonly talk: boolean
  readonly echo: boolean
  readonly utf8: boolean
  readonly tool: string | undefined
  readonly finish: string | undefined
  readonly error: string | undefined
  readonly newline: string
  readonly splitBytes: number
  readonly status: number | undefined
  readonly fault: string | undefined
  readonly after: number
  readonly times: number
  readonly calls: number
  readonly impatientMs: number
  readonly factor: number
  readonly untold: boolean
  readonly mark: string | undefined
  /** Equal for equal scripts, however they were given. */
  readonly key: string
}

/** Smallest and largest value of each number. The largest keep one request from occupying the simulator for good. */
const RANGES = {
  tokens: [0, 100_000],
  dimensions: [0, 100_000],
  ttft: [0, 600_000],
  gap: [0, 600_000],
  chunk: [1, 100_000],
  cached: [0, 1_000_000_000],
  written: [0, 1_000_000_000],
  reasoning: [0, 1_000_000_000],
  split: [0, 65_536],
  status: [400, 599],
  after: [0, 100_000],
  times: [0, 1_000_000],
  calls: [1, 1_000],
  impatient: [1, 600_000],
  factor: [1, 20],
} as const

const NEWLINES = new Map([
  ['lf', '\n'],
  ['crlf', '\r\n'],
  ['cr', '\r'],
])

const OPTIONS = [
  ...Object.keys(RANGES),
  'thoughts',
  'asked',
  'text',
  'talk',
  'echo',
  'utf8',
  'untold',
  'tool',
  'finish',
  'error',
  'newline',
  'fault',
  'mark',
].toSorted()

interface Sources {
  header: string | undefined
  model: string
  lastUserText: string
  /** Only for a request that asks the model to think. Options go before it. */
  thoughts?: string | undefined
}

export function parseScript(from: Sources): Script {
  const options = mergedOptions([from.header ?? '', afterQuestionMark(from.model), directiveIn(from.lastUserText)])
  // A given number of reasoning tokens means hidden ones.
  const thoughts = options.get('thoughts') ?? (options.has('reasoning') ? undefined : from.thoughts)
  const newline = NEWLINES.get(options.get('newline') ?? 'lf')
  if (newline === undefined) throw new Refusal(400, `newline must be one of ${[...NEWLINES.keys()].join(', ')}`)
  return {
    tokens: numberIn(options, 'tokens'),
    dimensions: numberIn(options, 'dimensions'),
    ttftMs: numberIn(options, 'ttft') ?? 0,
    gapMs: numberIn(options, 'gap') ?? 0,
    chunkTokens: numberIn(options, 'chunk') ?? 1,
    cachedTokens: numberIn(options, 'cached') ?? 0,
    cacheWriteTokens: numberIn(options, 'written') ?? 0,
    reasoningTokens: numberIn(options, 'reasoning') ?? tokensIn(thoughts ?? ''),
    thoughts,
    asked: flagIn(options, 'asked'),
    text: options.get('text'),
    talk: flagIn(options, 'talk'),
    echo: flagIn(options, 'echo'),
    utf8: flagIn(options, 'utf8'),
    tool: options.get('tool'),
    finish: options.get('finish'),
    error: options.get('error'),
    newline,
    splitBytes: numberIn(options, 'split') ?? 0,
    status: numberIn(options, 'status'),
    fault: options.get('fault'),
    after: numberIn(options, 'after') ?? 3,
    times: numberIn(options, 'times') ?? Infinity,
    calls: numberIn(options, 'calls') ?? 1,
    impatientMs: numberIn(options, 'impatient') ?? Infinity,
    factor: numberIn(options, 'factor') ?? 1,
    untold: flagIn(options, 'untold'),
    mark: options.get('mark'),
    key: new URLSearchParams([...options].toSorted(([a], [b]) => (a < b ? -1 : 1))).toString(),
  }
}

function mergedOptions(sources: string[]): Map<string, string> {
  const options = new Map<string, string>()
  for (const source of sources) {
    for (const [name, value] of new URLSearchParams(source)) {
      // A misspelt option would make a test pass for the wrong reason.
      if (!OPTIONS.includes(name)) {
        throw new Refusal(400, `unknown simulator option "${name}"; known are ${OPTIONS.join(', ')}`)
      }
      if (!options.has(name)) options.set(name, value)
    }
  }
  return options
}

function afterQuestionMark(model: string): string {
  const mark = model.indexOf('?')
  return mark === -1 ? '' : model.slice(mark + 1)
}

function directiveIn(text: string): string {
  const options = /\[\[sim\s([^\]]*)\]\]/.exec(text)?.[1] ?? ''
  return options.trim().replaceAll(/\s+/g, '&')
}

function numberIn(options: Map<string, string>, name: keyof typeof RANGES): number | undefined {
  const value = options.get(name)
  if (value === undefined) return undefined
  const [min, max] = RANGES[name]
  const number = /^\d{1,10}$/.test(value) ? Number(value) : -1
  if (number < min || number > max) throw new Refusal(400, `${name} must be a whole number from ${min} to ${max}`)
  return number
}

function flagIn(options: Map<string, string>, name: string): boolean {
  const value = options.get(name) ?? '0'
  if (!['', '0', '1'].includes(value)) throw new Refusal(400, `${name} must be 0 or 1`)
  return value !== '0'
}
