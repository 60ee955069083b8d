/**
 * The one place where examples are written: the web app and the docs show what is here, and tests run it. Keys are read
 * from the environment, so that no program that grows from an example carries a secret in its text; `keysFor` sets them.
 */

export const SNIPPETS = ['curl', 'node', 'python', 'ai-sdk', 'langchain', 'environment'] as const
export type SnippetId = (typeof SNIPPETS)[number]

export interface SnippetKeys {
  publishableKey: string
  secretKey: string
}

/** The request of an example. The names are those of the wire, except for the limit, which has two there. */
export interface SnippetRequest {
  model: string
  messages: readonly { role: 'system' | 'user' | 'assistant'; content: string }[]
  stream?: boolean
  temperature?: number | undefined
  maxTokens?: number | undefined
}

export interface Snippet {
  id: SnippetId
  label: string
  /** The file to save it as; null: it is pasted into a shell. */
  file: string | null
  /** The command that installs what it needs; null: nothing. */
  install: string | null
  /** How to run the file. */
  run: string | null
  text: string
}

/** The placeholders for keys that are not known. */
export const KEY_PLACEHOLDERS: SnippetKeys = {
  publishableKey: 'ply_pk_…',
  secretKey: 'ply_sk_…',
}

export function firstRequest(model: string): SnippetRequest {
  return { model, messages: [{ role: 'user', content: 'Say hello to my readers.' }], stream: true }
}

/** Sets the keys for the shell that the examples are run in. */
export function keysFor({ publishableKey, secretKey }: SnippetKeys): string {
  return [`export PARLEY_PUBLISHABLE_KEY='${publishableKey}'`, `export PARLEY_SECRET_KEY='${secretKey}'`].join('\n')
}

export function snippetFor(id: SnippetId, baseUrl: string, request: SnippetRequest): Snippet {
  return { id, ...DESCRIPTIONS[id], text: WRITERS[id](`${baseUrl}/v1`, request) }
}

export function snippetsFor(baseUrl: string, request: SnippetRequest): Snippet[] {
  return SNIPPETS.map((id) => snippetFor(id, baseUrl, request))
}

const DESCRIPTIONS: Record<SnippetId, Omit<Snippet, 'id' | 'text'>> = {
  curl: { label: 'curl', file: null, install: null, run: null },
  node: { label: 'OpenAI (Node)', file: 'ask.mjs', install: 'npm install openai', run: 'node ask.mjs' },
  python: { label: 'OpenAI (Python)', file: 'ask.py', install: 'pip install openai', run: 'python3 ask.py' },
  'ai-sdk': {
    label: 'AI SDK',
    file: 'ask.mjs',
    install: 'npm install ai @ai-sdk/openai-compatible',
    run: 'node ask.mjs',
  },
  langchain: {
    label: 'LangChain',
    file: 'ask.mjs',
    install: 'npm install @langchain/openai @langchain/core',
    run: 'node ask.mjs',
  },
  environment: { label: 'Environment', file: null, install: 'npm install openai', run: null },
}

const WRITERS: Record<SnippetId, (address: string, request: SnippetRequest) => string> = {
  curl: curlOf,
  node: nodeOf,
  python: pythonOf,
  'ai-sdk': aiSdkOf,
  langchain: langChainOf,
  environment: environmentOf,
}

function curlOf(address: string, request: SnippetRequest): string {
  const body = JSON.stringify(wireOf(request), null, 2)
  return [
    `curl ${request.stream ? '-sSN' : '-sS'} ${address}/chat/completions`,
    `-H 'content-type: application/json'`,
    `-H "x-publishable-key: $PARLEY_PUBLISHABLE_KEY"`,
    `-H "x-secret-key: $PARLEY_SECRET_KEY"`,
    `-d ${quoteForShell(body)}`,
  ].join(' \\\n  ')
}

function nodeOf(address: string, request: SnippetRequest): string {
  return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${literal(address)},
  apiKey: 'unused', // the two headers below are what counts
  defaultHeaders: {
    'x-publishable-key': process.env.PARLEY_PUBLISHABLE_KEY,
    'x-secret-key': process.env.PARLEY_SECRET_KEY,
    'x-error-format': 'openai',
    Authorization: null,
  },
})

${nodeCallOf('client', request)}
`
}

function nodeCallOf(client: string, request: SnippetRequest): string {
  const call = `${client}.chat.completions.create(${objectOf(wireOf(request))})`
  return request.stream
    ? `const stream = await ${call}
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')`
    : `const completion = await ${call}
console.log(completion.choices[0].message.content)`
}

function pythonOf(address: string, request: SnippetRequest): string {
  const fields = Object.entries(wireOf(request)).map(([name, value]) => `    ${name}=${pythonLiteral(value)},`)
  const reading = request.stream
    ? `for chunk in answer:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
    : `print(answer.choices[0].message.content)`
  return `import os
from openai import OpenAI

client = OpenAI(
    base_url=${pythonLiteral(address)},
    api_key="unused",  # the two headers below are what counts
    default_headers={
        "x-publishable-key": os.environ["PARLEY_PUBLISHABLE_KEY"],
        "x-secret-key": os.environ["PARLEY_SECRET_KEY"],
        "x-error-format": "openai",
    },
)

answer = client.chat.completions.create(
${fields.join('\n')}
)
${reading}
`
}

function aiSdkOf(address: string, request: SnippetRequest): string {
  const { model, messages, stream, temperature, maxTokens } = request
  const options = { messages, temperature, maxOutputTokens: maxTokens }
  const call = stream ? 'streamText' : 'generateText'
  const asked = objectOf({ ...options }).replace(/^\{\n/, `{\n  model: parley(${literal(model)}),\n`)
  const reading = stream
    ? `const { textStream } = streamText(${asked})
for await (const text of textStream) process.stdout.write(text)`
    : `const { text } = await generateText(${asked})
console.log(text)`
  return `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ${call} } from 'ai'

const parley = createOpenAICompatible({
  name: 'parley',
  baseURL: ${literal(address)},
  includeUsage: true,
  headers: {
    'x-publishable-key': process.env.PARLEY_PUBLISHABLE_KEY,
    'x-secret-key': process.env.PARLEY_SECRET_KEY,
    'x-error-format': 'openai',
  },
})

${reading}
`
}

function langChainOf(address: string, request: SnippetRequest): string {
  const { model, messages, stream, temperature, maxTokens } = request
  const chosen = Object.entries({ model, temperature, maxTokens })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${name}: ${literal(value)},`)
  const reading = stream
    ? `const stream = await model.stream(${literal(messages, 0)})
for await (const chunk of stream) process.stdout.write(chunk.text)`
    : `const answer = await model.invoke(${literal(messages, 0)})
console.log(answer.text)`
  return `import { ChatOpenAICompletions } from '@langchain/openai'

const model = new ChatOpenAICompletions({
${chosen.join('\n')}
  apiKey: 'unused', // the two headers below are what counts
  configuration: {
    baseURL: ${literal(address)},
    defaultHeaders: {
      'x-publishable-key': process.env.PARLEY_PUBLISHABLE_KEY,
      'x-secret-key': process.env.PARLEY_SECRET_KEY,
      'x-error-format': 'openai',
      Authorization: null,
    },
  },
})

${reading}
`
}

/** For programs that cannot be changed: what the OpenAI SDKs read by themselves. */
function environmentOf(address: string, request: SnippetRequest): string {
  const program = `import OpenAI from 'openai'\n${nodeCallOf('new OpenAI()', request)}`
  return `export OPENAI_BASE_URL=${quoteForShell(address)}
export OPENAI_API_KEY=unused
export OPENAI_CUSTOM_HEADERS="x-publishable-key: $PARLEY_PUBLISHABLE_KEY
x-secret-key: $PARLEY_SECRET_KEY"

# Any program that is built on the OpenAI SDK now asks Parley, for example this one:
node --input-type=module -e ${quoteForShell(program)}`
}

function wireOf({ model, messages, stream, temperature, maxTokens }: SnippetRequest): Record<string, unknown> {
  const fields = { model, messages, temperature, max_completion_tokens: maxTokens, stream: stream || undefined }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** A field to a line, which is how people read and change a call. */
function objectOf(fields: Record<string, unknown>): string {
  const lines = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${name}: ${literal(value, 1)},`)
  return `{\n${lines.join('\n')}\n}`
}

/** JavaScript in the style of the examples. JSON is JavaScript, whatever a message holds. */
function literal(value: unknown, depth = 0): string {
  if (Array.isArray(value)) {
    const inner = '  '.repeat(depth + 1)
    const items = value.map((item) => `${inner}${literal(item, depth + 1)},`)
    return `[\n${items.join('\n')}\n${'  '.repeat(depth)}]`
  }
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, each]) => `${name}: ${literal(each, depth)}`)
    return `{ ${fields.join(', ')} }`
  }
  const text = JSON.stringify(value)
  return typeof value === 'string' && !/['\\\n]/.test(text.slice(1, -1)) ? `'${value}'` : text
}

function pythonLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[\n${value.map((item) => `        ${pythonLiteral(item)},`).join('\n')}\n    ]`
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonLiteral(each)}`)
    return `{${fields.join(', ')}}`
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  // Python has no escape for a slash but knows all others of JSON.
  return JSON.stringify(value)
}

/** Nothing in it means anything to the shell. */
function quoteForShell(text: string): string {
  return /^[\w:/.@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
