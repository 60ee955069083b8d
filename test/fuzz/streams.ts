/** Providers' answers as bytes: stored streams, and the simulator's for formats that have none. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSimulator } from '../../simulator/server.ts'

export interface Format {
  kind: string
  basePath: string
  settings: Record<string, unknown>
  contentType: string
  isEmbedding: boolean
  streams: readonly Buffer[]
}

const EVENTS = 'text/event-stream'
const FRAMES = 'application/vnd.amazon.eventstream'
const SCRIPTS = [
  'tokens=6',
  'tokens=4&thoughts=Hm&cached=3',
  'tokens=30&chunk=5',
  'finish=max_tokens',
  'utf8=1&tokens=5',
]

export async function readFormats(): Promise<Format[]> {
  const gemini = stored('gemini')
  const simulator = await createSimulator({ seed: 1 })
  const ask = (path: string, body: object) => answerOf(simulator.url + path, body)
  try {
    const frames = await Promise.all(
      SCRIPTS.map((script) => ask(`/model/${encodeURIComponent(`m?${script}`)}/converse-stream`, CONVERSE)),
    )
    const tools = await ask(`/model/${encodeURIComponent('m?tool=look&calls=2')}/converse-stream`, CONVERSE_WITH_TOOL)
    const vectors = await ask('/v1/embeddings', { model: 'sim', input: INPUTS })
    const geminiVectors = await ask('/v1beta/models/sim:batchEmbedContents', { requests: INPUTS.map(geminiEmbedding) })
    const plain = { settings: {}, contentType: EVENTS, isEmbedding: false }
    return [
      { ...plain, kind: 'openai-compatible', basePath: '/v1', streams: stored('openai') },
      { ...plain, kind: 'anthropic', basePath: '/v1', streams: stored('anthropic') },
      { ...plain, kind: 'gemini', basePath: '/v1beta', streams: gemini },
      { ...plain, kind: 'vertex', basePath: '/v1', streams: gemini },
      {
        kind: 'bedrock',
        basePath: '',
        settings: { region: 'eu-north-1' },
        contentType: FRAMES,
        isEmbedding: false,
        streams: [...frames, tools],
      },
      {
        ...plain,
        kind: 'openai-compatible',
        basePath: '/v1',
        contentType: 'application/json',
        isEmbedding: true,
        streams: [vectors],
      },
      {
        ...plain,
        kind: 'gemini',
        basePath: '/v1beta',
        contentType: 'application/json',
        isEmbedding: true,
        streams: [geminiVectors],
      },
    ]
  } finally {
    await simulator.close()
  }
}

export const INPUTS = ['Hello', 'world']

const user = { role: 'user', content: [{ text: 'Hello' }] }
const CONVERSE = { messages: [user] }
const CONVERSE_WITH_TOOL = {
  messages: [user],
  toolConfig: { tools: [{ toolSpec: { name: 'look', inputSchema: { json: { type: 'object', properties: {} } } } }] },
}

function geminiEmbedding(text: string) {
  return { model: 'models/sim', content: { parts: [{ text }] } }
}

function stored(folder: string): Buffer[] {
  const path = join(import.meta.dirname, '../fixtures', folder)
  return readdirSync(path)
    .toSorted()
    .map((file) => readFileSync(join(path, file)))
}

async function answerOf(url: string, body: object): Promise<Buffer> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer key', 'x-goog-api-key': 'key' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const bytes = Buffer.from(await response.arrayBuffer())
  if (!response.ok) throw new Error(`the simulator answers ${response.status}: ${bytes.toString().slice(0, 200)}`)
  return bytes
}
