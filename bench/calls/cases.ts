/** The load, as data: what is asked, how often, and how much of it at once. */
import { randomUUID } from 'node:crypto'
import type { SubjectName } from './subject.ts'

export const CHAT_MODEL = 'sim'
export const EMBEDDING_MODEL = 'sim-embedding'

export interface CallRequest {
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One caller's calls, one after the other: given the body of the last answer, what is asked next. */
export type Lane = (answer?: string) => CallRequest

export interface Case {
  readonly name: string
  /** For whoever reads the table. */
  readonly title: string
  readonly path: string
  readonly isStream: boolean
  readonly calls: number
  readonly atOnce: number
  /** How many calls, one at a time, the time to the first byte is taken of. */
  readonly alone: number
  /** The subjects that can do it; all when absent. */
  readonly only?: readonly SubjectName[]
  lane(): Lane
}

const CHAT = '/v1/chat/completions'
const TURNS = 20
const WORDS = 'The quiet traveler carries another golden letter beyond the ancient harbor . '

const SAY_50 = '[[sim tokens=50]]'
const SAY_50_SLOWLY = '[[sim tokens=50 gap=10]]'

function user(content: string) {
  return { role: 'user', content }
}

function same(body: unknown): () => Lane {
  const request = { body: JSON.stringify(body) }
  return () => () => request
}

/** Everybody asks for the usage, as Parley does on its own: else the provider would send its callers more than others'. */
function streamed(content: string) {
  return { model: CHAT_MODEL, messages: [user(content)], stream: true, stream_options: { include_usage: true } }
}

function ofLength(characters: number): string {
  return WORDS.repeat(Math.ceil(characters / WORDS.length)).slice(0, characters)
}

/** Conversations of 20 turns: each turn sends all that was said, with the answers as they came. */
function conversations(): Lane {
  let said: { role: string; content: string }[] = []
  let id = ''
  return (answer) => {
    if (answer !== undefined) said.push({ role: 'assistant', content: contentOf(answer) })
    if (said.length >= 2 * TURNS || id === '') {
      said = []
      id = randomUUID()
    }
    said.push(user(`${ofLength(120)} ${SAY_50}`))
    return { body: JSON.stringify({ model: CHAT_MODEL, messages: said }), headers: { 'x-conversation-id': id } }
  }
}

function contentOf(answer: string): string {
  const { choices } = JSON.parse(answer) as { choices: { message: { content: string } }[] }
  return choices[0]?.message.content ?? ''
}

export const CASES: readonly Case[] = [
  {
    name: 'json',
    title: 'a JSON answer of 50 tokens',
    path: CHAT,
    isStream: false,
    calls: 3_000,
    atOnce: 16,
    alone: 200,
    lane: same({ model: CHAT_MODEL, messages: [user(`Hello ${SAY_50}`)] }),
  },
  {
    name: 'burst',
    title: 'a stream whose 50 events come at once',
    path: CHAT,
    isStream: true,
    calls: 2_000,
    atOnce: 16,
    alone: 200,
    lane: same(streamed(`Hello ${SAY_50}`)),
  },
  {
    name: 'paced',
    title: 'a stream with an event every 10 ms',
    path: CHAT,
    isStream: true,
    calls: 768,
    atOnce: 64,
    alone: 20,
    lane: same(streamed(`Hello ${SAY_50_SLOWLY}`)),
  },
  {
    name: 'prompt',
    title: 'a prompt of 8 KB, answered in JSON',
    path: CHAT,
    isStream: false,
    calls: 2_000,
    atOnce: 16,
    alone: 100,
    lane: same({ model: CHAT_MODEL, messages: [user(`${ofLength(8 * 1_024)} ${SAY_50}`)] }),
  },
  {
    name: 'conversation',
    title: `a conversation of ${TURNS} turns, answered in JSON`,
    path: CHAT,
    isStream: false,
    calls: 16 * TURNS * 5,
    atOnce: 16,
    alone: 5 * TURNS,
    lane: conversations,
  },
  {
    name: 'embeddings',
    title: 'the embedding of one sentence',
    path: '/v1/embeddings',
    isStream: false,
    calls: 3_000,
    atOnce: 16,
    alone: 200,
    only: ['direct', 'bare', 'parley'],
    lane: same({ model: EMBEDDING_MODEL, input: WORDS }),
  },
]

/** A stream that goes on for as long as it takes to look at it: an event every 10 s, so that nobody gives up on it. */
export const HELD: Lane = () => ({ body: JSON.stringify(streamed('Hello [[sim tokens=60 gap=10000]]')) })
export const HELD_PATH = CHAT
