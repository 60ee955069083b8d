import type { FastifyReply, FastifyRequest } from 'fastify'
import { isIP } from 'node:net'
import type { z } from 'zod'
import type { MemberRole } from '../rules/accounts/roles.ts'
import type { Person } from '../actions/actor.ts'
import type { AdvertiserMembership } from '../store/accounts/advertiser-members.ts'
import type { ProjectAtHand } from '../actions/audit.ts'
import type { Db, Tx } from '../store/database.ts'
import { CLIENT_IP_HEADER } from './accounts/auth.ts'
import type { Contract, ParamOf, RouteKey } from './contract.ts'

/** The request that a handler gets: the complete list of what it can know of a request and touch for it. */

export interface User {
  id: string
  name: string
  email: string
  emailVerified: boolean
  twoFactorEnabled: boolean
  createdAt: Date
  sessionId: string
  /** When they last showed, in this session, that it is them. */
  provenAt: Date
}

/** The publisher that the caller is a member of, and what they may do there. */
export interface PublisherOfRequest {
  id: string
  name: string
  activatedAt: Date | null
  role: MemberRole
}

export interface RequestFacts {
  id: string
  ip: string
  userAgent: string | null
  /** For the sign-in library: the cookies and where the request comes from, and no other header. */
  headers: Headers
}

type AccessOf<Key extends RouteKey> = Contract[Key]['access']
type OutputOf<Key extends RouteKey, Part extends string> =
  Contract[Key] extends Record<Part, infer Schema extends z.ZodType> ? z.output<Schema> : undefined

export interface ConsoleRequest<Key extends RouteKey> {
  request: RequestFacts
  params: Record<ParamOf<Key>, string>
  query: OutputOf<Key, 'query'>
  body: OutputOf<Key, 'body'>
  file: Contract[Key] extends { takesFile: true } ? AsyncIterable<Buffer> : undefined
  user: AccessOf<Key> extends 'anyone' ? undefined : User
  /** The same person, as actions and the audit log name them. */
  actor: AccessOf<Key> extends 'anyone' ? undefined : Person
  publisher: AccessOf<Key> extends 'publisher' | 'project' ? PublisherOfRequest : undefined
  project: AccessOf<Key> extends 'project' ? ProjectAtHand : undefined
  /** The advertiser that the caller is a member of, and what they may do there. */
  advertiser: AccessOf<Key> extends 'advertiser' ? AdvertiserMembership : undefined
  /** A transaction that sees only the tenant's rows. For `anyone` and `user`: the whole store, to be asked with care. */
  db: Contract[Key] extends { network: true }
    ? undefined
    : AccessOf<Key> extends 'publisher' | 'project' | 'advertiser'
      ? Tx
      : Db
  /** A transaction for what people change of their own, for as long as their session is open. */
  change<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Another transaction of the tenant, for handlers that talk to the network in between. */
  inTenant<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Hands cookies of the sign-in library on to the browser. */
  setCookies(headers: Headers): void
}

/** The result of a handler: the contract's reply before it is turned into JSON. */
export type ResultOf<Key extends RouteKey> = Contract[Key] extends { format: 'events' }
  ? AsyncIterable<string>
  : z.input<Contract[Key]['reply']>

export type Handler<Key extends RouteKey> = (request: ConsoleRequest<Key>) => Promise<ResultOf<Key>> | ResultOf<Key>

const USER_AGENT_LENGTH_MAX = 300

export function factsOf(request: FastifyRequest): RequestFacts {
  const userAgent = request.headers['user-agent']?.slice(0, USER_AGENT_LENGTH_MAX) ?? null
  const ip = addressOf(request)
  const headers = new Headers({ [CLIENT_IP_HEADER]: ip })
  if (request.headers.cookie !== undefined) headers.set('cookie', request.headers.cookie)
  if (userAgent !== null) headers.set('user-agent', userAgent)
  return { id: request.id, ip, userAgent, headers }
}

/** A trusted proxy's word is taken for an address only: some add a port, and a careless one passes on what it was sent. */
function addressOf({ ip, socket }: FastifyRequest): string {
  const bare = ip.replace(/^\[([^\]]+)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  return isIP(bare) ? bare : (socket.remoteAddress ?? '')
}

export function passCookies(reply: FastifyReply, headers: Headers): void {
  for (const cookie of headers.getSetCookie()) reply.header('set-cookie', cookie)
}
