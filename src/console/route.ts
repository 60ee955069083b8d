import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { MINUTE_MS } from '../rules/durations.ts'
import { ParleyError } from '../rules/errors.ts'
import type { Person } from '../actions/actor.ts'
import type { ProjectAtHand } from '../actions/audit.ts'
import { notThere, requireAdvertiserRole, requireRole, wrongFields } from '../actions/refusals.ts'
import {
  findAdvertiserMembership,
  holdAdvertiserRole,
  type AdvertiserMembership,
} from '../store/accounts/advertiser-members.ts'
import { findMembership, findMembershipOfProject, holdRole, holdTeam, lockTeam } from '../store/accounts/members.ts'
import { isSessionOpen, lockUser } from '../store/accounts/users.ts'
import { inTransaction, type Db, type Tx } from '../store/database.ts'
import { withTenant, type Tenant } from '../store/tenancy.ts'
import { callAuthLibrary } from './accounts/auth-errors.ts'
import { SESSION_LONGEST_MS } from './accounts/auth.ts'
import {
  factsOf,
  passCookies,
  type Handler,
  type PublisherOfRequest,
  type RequestFacts,
  type User,
} from './console-request.ts'
import { entryOf, type RouteKey } from './contract.ts'
import type { Entry } from './contract/fields.ts'
import { throttle } from './throttle.ts'
import type { World } from './world.ts'

/**
 * The only way to add a route to the API. What the contract says of it is done here, in this order and before the handler:
 * who is calling (401), do not too many of theirs run already (429), is it theirs (404, the same as if it were not there), does
 * their role allow it (403), is their address confirmed where it has to be (409), have they not changed too much lately (429),
 * is what they sent valid (422), have they just proven who they are where it matters (403); then a transaction that the database
 * itself limits to the tenant. Of what the handler returns, only what the contract names leaves.
 */
export function route<Key extends RouteKey>(app: FastifyInstance, world: World, key: Key, handler: Handler<Key>): void {
  const entry = entryOf(key)
  const [method = '', url = ''] = key.split(' ')
  app.route({
    method,
    url,
    // A HEAD that nobody listed would be a route beside the contract.
    exposeHeadRoute: false,
    config: { takesFile: entry.takesFile ?? false },
    handler: async (request, reply) => {
      const { cookie } = request.headers
      const leave = cookie === undefined || entry.network ? undefined : await world.shares.enter(cookie)
      try {
        return await answer(world, entry, handler as unknown as AnyHandler, request, reply)
      } finally {
        leave?.()
      }
    },
  })
}

/** Far more than anybody types. Each change is a line in a log that is kept for ever, and some send mails. */
const CHANGES_PER_MINUTE = 120

/** A handler as the machinery sees it; its own types hold it to the contract. */
type AnyHandler = (call: Record<string, unknown>) => unknown

async function answer(world: World, entry: Entry, handler: AnyHandler, request: FastifyRequest, reply: FastifyReply) {
  const { shares } = world
  const facts = factsOf(request)
  const user =
    entry.access === 'anyone' ? undefined : await shares.ofNetwork(facts.ip, () => signedIn(world, facts, reply))
  const inShare = <T>(work: () => Promise<T>) =>
    user ? shares.ofUser(user.id, work) : shares.ofNetwork(facts.ip, work)
  const admit = () => admitted(world, entry, { request, facts, user })
  const setCookies = (headers: Headers) => passCookies(reply, headers)
  if (!entry.network) {
    const result = await inShare(async () => {
      const { tenant, ...call } = await admit()
      const handle = async (db: Db) => handler({ ...call, setCookies, db })
      return tenant ? call.inTenant(handle) : handle(world.db)
    })
    return send(entry, result, request, reply)
  }
  const { tenant: _, ...call } = await inShare(admit)
  if (user) reply.raw.once('close', shares.enterLong(user.id))
  const inTenant: typeof call.inTenant = (work) => inShare(() => call.inTenant(work))
  return send(entry, await handler({ ...call, inTenant, setCookies }), request, reply)
}

interface Asked {
  request: FastifyRequest
  facts: RequestFacts
  user: User | undefined
}

/** Returns what a handler gets, once the contract's conditions are met. */
async function admitted(world: World, entry: Entry, { request, facts, user }: Asked) {
  const isChange = request.method !== 'GET'
  const params = paramsOf(entry, request.params as Record<string, string>)
  const { publisher, project, advertiser } = user ? await tenantOf(world.db, entry, user, params) : NO_TENANT
  if (publisher && entry.role) requireRole(publisher.role, entry.role)
  if (advertiser && entry.advertiserRole) requireAdvertiserRole(advertiser.role, entry.advertiserRole)
  if (entry.confirmed && !user?.emailVerified) throw notConfirmed()
  if (user && isChange) await throttle(world.db, [{ subject: `changes/${user.id}`, most: CHANGES_PER_MINUTE }])
  const query = checked(entry.query, request.query, 'query')
  const body = checked(entry.body, request.body ?? {}, 'body')
  const file = entry.takesFile && fileIn(request.body)
  if (entry.freshProof && !(user && isFresh(user.provenAt))) throw new ParleyError('proof_needed')
  const tenant: Tenant | undefined = advertiser
    ? { advertiserId: advertiser.id }
    : publisher && { publisherId: publisher.id, projectId: project?.id }
  const inTenant = <T>(work: (tx: Tx) => Promise<T>) => {
    if (!tenant || !user) throw new Error('a route without a tenant has no transaction of one')
    return withTenant(world.tenants, tenant, async (tx) => {
      if (isChange || entry.network) await expectStillAllowed(tx, entry, { user, tenant, isChange })
      return work(tx)
    })
  }
  const change = <T>(work: (tx: Tx) => Promise<T>) => {
    if (!user) throw new Error('nobody is signed in, so nobody has anything to change')
    return inTransaction(world.db, async (tx) => {
      await lockUser(tx, user.id)
      if (!(await isSessionOpen(tx, user.id, user.sessionId))) throw new ParleyError('signed_out')
      return work(tx)
    })
  }
  const actor = user && personOf(user, facts)
  const tenants = { publisher, project, advertiser, tenant }
  return { request: facts, user, actor, params, ...tenants, query, body, file, inTenant, change }
}

/**
 * Once more, in the transaction: since the role was read, the request may have waited, and somebody was removed meanwhile.
 * A change holds the team as it is; what is read page by page looks again for each.
 */
async function expectStillAllowed(
  tx: Tx,
  entry: Entry,
  { user, tenant, isChange }: { user: User; tenant: Tenant; isChange: boolean },
): Promise<void> {
  const whose = 'advertiserId' in tenant ? tenant.advertiserId : tenant.publisherId
  if (isChange) await (entry.changesTeam ? lockTeam(tx, whose) : holdTeam(tx, whose))
  if ('advertiserId' in tenant) {
    const role = await holdAdvertiserRole(tx, whose, user.id)
    if (role === undefined) throw notThere(entry.access)
    if (entry.advertiserRole) requireAdvertiserRole(role, entry.advertiserRole)
    return
  }
  const role = await holdRole(tx, whose, user.id)
  if (role === undefined) throw notThere(entry.access)
  if (entry.role) requireRole(role, entry.role)
}

interface TenantOfRequest {
  publisher?: PublisherOfRequest
  project?: ProjectAtHand
  advertiser?: AdvertiserMembership
}

const NO_TENANT: TenantOfRequest = {}

/** Somebody at the console, as actions and the audit log name them. */
export function personOf({ id, name }: Pick<User, 'id' | 'name'>, { ip, userAgent }: RequestFacts): Person {
  return { kind: 'person', id, name, from: { ip, userAgent } }
}

/** The session that the cookie names, renewed when it is time. */
export async function findSession(
  world: World,
  facts: RequestFacts,
): Promise<{ user: User; cookies: Headers } | undefined> {
  const { response, headers } = await callAuthLibrary(world.db, () =>
    world.auth.api.getSession({ headers: facts.headers, returnHeaders: true }),
  )
  if (!response) return undefined
  const { user, session } = response
  if (Date.now() - session.createdAt.getTime() > SESSION_LONGEST_MS) return undefined
  const { id, name, email, emailVerified, createdAt } = user
  const twoFactorEnabled = user.twoFactorEnabled ?? false
  const { id: sessionId, provenAt } = session
  return {
    user: { id, name, email, emailVerified, twoFactorEnabled, createdAt, sessionId, provenAt },
    cookies: headers,
  }
}

async function signedIn(world: World, facts: RequestFacts, reply: FastifyReply): Promise<User> {
  const found = await findSession(world, facts)
  if (!found) throw new ParleyError('signed_out')
  passCookies(reply, found.cookies)
  return found.user
}

/** A malformed id is an id of nothing, so it is answered like one. */
function paramsOf(entry: Entry, params: Record<string, string>): Record<string, string> {
  const declared = entry.params?.shape ?? {}
  for (const [name, value] of Object.entries(params)) {
    const schema = (declared as Record<string, z.ZodType>)[name] ?? uuid
    if (!schema.safeParse(value).success) throw notThere(wordsOf(name))
  }
  return params
}

const uuid = z.uuid()

/** `end user` for `endUser`. */
function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

async function tenantOf(db: Db, entry: Entry, user: User, params: Record<string, string>): Promise<TenantOfRequest> {
  if (entry.access === 'advertiser') {
    const advertiser = await findAdvertiserMembership(db, user.id, params.advertiser ?? '')
    if (!advertiser) throw notThere('advertiser')
    return { advertiser }
  }
  if (entry.access === 'publisher') {
    const membership = await findMembership(db, user.id, params.publisher ?? '')
    if (!membership) throw notThere('publisher')
    return { publisher: publisherOf(membership) }
  }
  if (entry.access === 'project') {
    const membership = await findMembershipOfProject(db, user.id, params.project ?? '')
    if (!membership) throw notThere('project')
    const { project, publisherId } = membership
    return { publisher: publisherOf(membership), project: { ...project, publisherId } }
  }
  return NO_TENANT
}

function publisherOf(membership: NonNullable<Awaited<ReturnType<typeof findMembership>>>): PublisherOfRequest {
  const { publisherId: id, publisherName: name, activatedAt, role } = membership
  return { id, name, activatedAt, role }
}

/** Long enough to finish what one began, and too short for whoever finds the laptop, or the cookie, later. */
const FRESH_FOR_MS = 10 * MINUTE_MS

function isFresh(provenAt: Date): boolean {
  return Date.now() - provenAt.getTime() < FRESH_FOR_MS
}

function notConfirmed(): ParleyError {
  return new ParleyError('conflict', { message: 'Confirm your address first. The link is in the email we sent you.' })
}

function checked(schema: z.ZodType | undefined, value: unknown, part: 'query' | 'body'): unknown {
  if (schema === undefined) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw wrongFields(
    result.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.') || part, message })),
  )
}

/** The type that routes of files take is read by none of the others: api.ts. */
function fileIn(body: unknown): AsyncIterable<Buffer> {
  if (body instanceof Readable) return body as AsyncIterable<Buffer>
  throw new ParleyError('invalid_request', { message: 'Send the file itself, as application/octet-stream.' })
}

const FILE_TYPES = { csv: 'text/csv', json: 'application/json', markdown: 'text/markdown' }

function send(entry: Entry, result: unknown, request: FastifyRequest, reply: FastifyReply) {
  if (entry.format === 'events') {
    return reply.type('text/event-stream; charset=utf-8').send(Readable.from(result as AsyncIterable<string>))
  }
  const valid = entry.reply.safeParse(result)
  // Where, but not what: the value may be a secret.
  if (!valid.success)
    throw new ParleyError('internal', { details: { reply: valid.error.issues[0]?.path.join('.') ?? '' } })
  if (entry.format) {
    const name = request.routeOptions.url?.split('/').at(-1) ?? 'export.csv'
    return reply
      .type(`${FILE_TYPES[entry.format]}; charset=utf-8`)
      .header('content-disposition', `attachment; filename="${name}"`)
      .send(valid.data)
  }
  return reply.send(valid.data)
}
