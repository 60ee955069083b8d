import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isUuid } from '../../platform/uuid.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../rules/durations.ts'
import { ParleyError } from '../../rules/errors.ts'
import { escapeHtml } from '../../rules/html.ts'
import type { Db } from '../../store/database.ts'
import { findLibrary, listShownAds, type ShownAd, type ShownAds } from '../../store/recommendations/ad-library.ts'
import { createKept } from './kept.ts'
import { openTemplate, type Template } from './template.ts'
import { createVisitors } from './visitors.ts'

/**
 * The ad library of a project, for everybody: who paid, what was said, how often. Of conversations there is nothing in it,
 * nor of clicks, and small counts are not told: from them somebody could tell that one reader was shown something.
 */

export interface AdLibraryOptions {
  db: Db
  webRoot: string
  /** A monotonic clock, which nobody can set back. */
  elapsedMs?: () => number
}

const DAYS = 90
/** As soon as it is closed, it is gone. */
const OPEN_MS = 5 * SECOND_MS
const ADS_MS = 10 * MINUTE_MS
const CACHE = 'public, max-age=60'
const PROJECTS_MAX = 500
const SEEN_MAX = 100_000
const ADS_MAX = 500
const TOLD_FROM = 10

interface Library extends ShownAds {
  project: string
}

export function adLibraryPages(app: FastifyInstance, { db, webRoot, ...options }: AdLibraryOptions): void {
  const { elapsedMs = () => performance.now() } = options
  const template = openTemplate(webRoot, 'ads.html')
  const visitors = createVisitors(elapsedMs)
  const kept = new LRUCache<string, () => Promise<Library | undefined>>({ max: PROJECTS_MAX })

  function keptOf(projectId: string): () => Promise<Library | undefined> {
    const opening = createKept(OPEN_MS, () => findLibrary(db, projectId), elapsedMs)
    const listing = createKept(
      ADS_MS,
      () =>
        listShownAds(db, projectId, {
          since: new Date(Date.now() - DAYS * DAY_MS),
          seenMax: SEEN_MAX,
          adsMax: ADS_MAX,
        }),
      elapsedMs,
    )
    return async () => {
      const library = await opening()
      return library && { ...library, ...(await listing()) }
    }
  }

  async function libraryFor(request: FastifyRequest, projectId: string): Promise<Library> {
    visitors.admit(request.ip)
    if (!isUuid(projectId)) throw notThere()
    const find = kept.get(projectId) ?? keptOf(projectId)
    kept.set(projectId, find)
    const library = await find()
    if (library) return library
    // Or who asks for many that are not there has those that are looked up again and again.
    kept.delete(projectId)
    throw notThere()
  }

  app.get<{ Params: { page: string } }>('/ads/:page', async (request, reply) => {
    const { page } = request.params
    if (page.endsWith('.json')) {
      const library = await libraryFor(request, page.slice(0, -'.json'.length))
      // Other pages may show it: there is nothing in it that is not for everybody.
      reply.headers({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
      return send(reply, 'application/json; charset=utf-8', JSON.stringify(jsonOf(library)))
    }
    const library = await libraryFor(request, page)
    if (!template) throw notThere()
    return send(reply, 'text/html; charset=utf-8', pageOf(template, library, page))
  })
}

function notThere(): ParleyError {
  return new ParleyError('not_found', { message: 'There is no ad library here.' })
}

function send(reply: FastifyReply, type: string, body: string): FastifyReply {
  return reply.headers({ 'cache-control': CACHE }).type(type).send(body)
}

function jsonOf({ project, ads, isMore }: Library) {
  return {
    project,
    days: DAYS,
    // The newest alone were looked at.
    is_partial: isMore,
    recommendations: ads.map((ad) => ({
      advertiser: ad.advertiser,
      legal_name: ad.legalName,
      headline: ad.headline,
      label: ad.label,
      first_shown: dayOf(ad.firstAt),
      last_shown: dayOf(ad.lastAt),
      // Null: fewer than ten.
      times_shown: ad.times < TOLD_FROM ? null : ad.times,
    })),
  }
}

function pageOf(template: Template, { project, ads, isMore }: Library, projectId: string): string {
  return template({
    project: escapeHtml(project),
    ads: ads.length === 0 ? `<p class="overall">Nothing was recommended in the last ${DAYS} days.</p>` : tableOf(ads),
    partial: isMore ? '<p class="small">There were more: these are the most recent.</p>' : '',
    json: `<a href="/ads/${projectId}.json">As JSON</a>`,
  })
}

const COLUMNS = ['Advertiser', 'Offer', 'Label', 'First shown', 'Last shown', 'Times']

function tableOf(ads: readonly ShownAd[]): string {
  const heads = COLUMNS.map((name) => `<th scope="col"${name === 'Times' ? ' class="number"' : ''}>${name}</th>`)
  const rows = ads.map(rowOf)
  return `<table class="subjects ads"><thead><tr>${heads.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function rowOf({ advertiser, legalName, headline, label, firstAt, lastAt, times }: ShownAd): string {
  const legal = legalName === null ? '' : `<span>${escapeHtml(legalName)}</span>`
  const name = advertiser === null ? '<span>No longer an advertiser here</span>' : escapeHtml(advertiser)
  const cells = [
    escapeHtml(headline),
    escapeHtml(label),
    dayOf(firstAt),
    dayOf(lastAt),
    times < TOLD_FROM ? `fewer than ${TOLD_FROM}` : times.toLocaleString('en'),
  ].map((text, n) => {
    const column = COLUMNS[n + 1] ?? ''
    return `<td data-label="${column}"${column === 'Times' ? ' class="number"' : ''}>${text}</td>`
  })
  return `<tr><th scope="row">${name} ${legal}</th>${cells.join('')}</tr>`
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}
