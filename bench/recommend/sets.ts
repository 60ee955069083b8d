/** The sets that are measured on: our own beside this folder, and public ones in a folder that the caller names. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isTrainingText } from '../../scripts/training-split.ts'
import type { Turn } from '../../src/rules/recommendations/matching.ts'
import type { Judgements } from './metrics.ts'

const OWN_DIR = join(import.meta.dirname, '../sets')

export interface CatalogueOffer {
  id: string
  advertiser: string
  campaign: string
  title: string
  brand: string | null
  category: string
  description: string
  /** For whom it is, in the advertiser's words; the same for all offers of a campaign. */
  hints: readonly string[]
}

/** A prompt or a conversation, with what it is about. */
export interface Talk {
  id: string
  topic: string
  turns: readonly Turn[]
}

export interface Conversation extends Talk {
  /** The assistant's reply to the last turn. */
  answer: string
  /** The offers that its author had in mind. */
  intended: readonly string[]
}

/** Queries with graded items, over a catalogue of their own. */
export interface SearchSet {
  name: string
  offers: CatalogueOffer[]
  queries: { text: string; judgements: Judgements }[]
  /** A grade from here on is relevant: half of the best one. */
  relevantFrom: number
}

export type Annotations = ReadonlyMap<string, Judgements>

export function readOwnOffers(): CatalogueOffer[] {
  const offers = readJson(OWN_DIR, 'offers.json') as (Omit<CatalogueOffer, 'hints'> & { hints?: string[] })[]
  return offers.map((offer) => Object.assign(offer, { hints: offer.hints ?? [] }))
}

export function readConversations(): Conversation[] {
  const conversations = readJson(OWN_DIR, 'conversations.json') as Omit<Conversation, 'topic'>[]
  return conversations.map((conversation) => Object.assign(conversation, { topic: 'commercial' }))
}

/** Each sensitive set is of another author, who knew neither the gates nor the other sets. bench/sets/README.md has their story. */
export const SENSITIVE_SETS = ['sensitive', 'sensitive-2', 'sensitive-3', 'sensitive-4'] as const

export function readTalks(name: (typeof SENSITIVE_SETS)[number] | 'everyday'): Talk[] {
  const talks = readJson(OWN_DIR, `${name}.json`) as { id: string; class: string; turns: Turn[] }[]
  return talks.map(({ id, class: topic, turns }) => ({ id, topic, turns }))
}

/** Reads one annotator's grade for each pooled offer: 2 fits well, 1 acceptable, 0 not relevant, -1 absurd or harmful. */
export function readAnnotations(annotator: 'a' | 'b' | 'c'): Annotations {
  const judged = readJson(OWN_DIR, `judgements-${annotator}.json`) as Record<string, Record<string, number>>
  return new Map(Object.entries(judged).map(([id, grades]) => [id, new Map(Object.entries(grades))]))
}

/**
 * Thresholds are tuned on the one half and measured on the other, which nobody looks at before. By the digest of its id,
 * so that adding conversations moves none to the other half.
 */
export function isInTestHalf(id: string): boolean {
  return (createHash('sha256').update(id).digest()[0] ?? 0) % 2 === 1
}

interface Document {
  id: string
  title: string
  brand?: string
  seller?: string
  body?: string
  category?: string
}

interface SearchFile {
  docs: Document[]
  queries: { q: string; rel: Record<string, number> }[]
  max: number
}

export function readSearchSet(dir: string, name: 'icecat' | 'caprod'): SearchSet {
  const { docs, queries, max } = readJson(dir, `${name}.json`) as SearchFile
  const relevantFrom = max / 2
  return {
    name,
    offers: docs.map((document) => offerOf(name, document)),
    // Where nothing is relevant, no engine can be right.
    queries: queries
      .filter(({ rel }) => Object.values(rel).some((grade) => grade >= relevantFrom))
      .map(({ q, rel }) => ({
        text: q,
        judgements: new Map(Object.entries(rel).map(([id, grade]) => [`${name}-${id}`, grade])),
      })),
    relevantFrom,
  }
}

/** All public offers as one large catalogue. */
export function readPublicOffers(dir: string): CatalogueOffer[] {
  return [
    ...readSearchSet(dir, 'icecat').offers,
    ...readSearchSet(dir, 'caprod').offers,
    ...(readJson(dir, 'brands.json') as Document[]).map((document) => offerOf('brands', document)),
  ]
}

interface Source {
  sensitive: boolean
  commercial?: boolean
  texts: string[]
}

/** Texts that nothing was learned from, by where they come from: sensitive ones, and others that want nothing to buy. */
export function readHeldOutTalks(dir: string, kind: 'sensitive' | 'everyday'): Talk[] {
  const sources = readJson(dir, 'prompts.json') as Record<string, Source>
  return Object.entries(sources)
    .filter(([, { sensitive, commercial }]) => sensitive === (kind === 'sensitive') && commercial !== true)
    .flatMap(([topic, { texts }]) =>
      texts
        .map((text, i): Talk => ({ id: `${topic}-${i}`, topic, turns: [{ role: 'user', text }] }))
        .filter(({ turns }) => turns.every(({ text }) => !isTrainingText(text))),
    )
}

/** A few conversations of one author, with a lenient pattern for what would be right. */
export function readHandConversations(dir: string): (Talk & { fits: RegExp | undefined })[] {
  const conversations = readJson(dir, 'conversations.json') as { id: string; u: string[]; rel?: string; no?: string }[]
  return conversations.map(({ id, u, rel, no }) => ({
    id,
    topic: no ?? 'commercial',
    turns: u.map((text) => ({ role: 'user', text })),
    fits: rel === undefined ? undefined : new RegExp(rel, 'i'),
  }))
}

function offerOf(set: string, { id, title, brand, seller, body, category }: Document): CatalogueOffer {
  const advertiser = seller ?? brand ?? set
  return {
    id: `${set}-${id}`,
    advertiser,
    campaign: advertiser,
    title,
    brand: brand ?? null,
    category: category ?? '',
    description: body ?? '',
    hints: [],
  }
}

function readJson(dir: string, name: string): unknown {
  return JSON.parse(readFileSync(join(dir, name), 'utf8'))
}
