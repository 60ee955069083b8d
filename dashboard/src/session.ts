/** The signed-in person, and the project and publisher that the page is about. */
import { useQuery, type QueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Reply } from './api.ts'
import { MINUTE_MS } from './durations.ts'
import { mayActAs, type Role } from './page.ts'
import { queryOf } from './queries.ts'

export type Me = Reply<'GET /api/me'>
export type Membership = Me['publishers'][number]
export type AdvertiserOfMine = Me['advertisers'][number]
export type ProjectOfMine = Membership['projects'][number]

export const meQuery = { ...queryOf('GET /api/me', {}), staleTime: MINUTE_MS }

/** After a change of what the caller is a member of. */
export function readMeAgain(client: QueryClient): Promise<Me> {
  return client.fetchQuery({ ...meQuery, staleTime: 0 })
}

/** Forgets what was read in the session, but only when its page is left: that would read everything again. */
export async function endSession(
  client: QueryClient,
  end: () => Promise<unknown>,
  leave: () => Promise<void>,
): Promise<void> {
  await end()
  await leave()
  client.clear()
}

/** For pages behind the guard, which has loaded this before any of them is drawn. */
export function useMe(): Me {
  const { data } = useQuery(meQuery)
  if (data === undefined) throw new Error('a page behind the sign-in was drawn without a session')
  return data
}

export interface Place {
  publisher: Membership | undefined
  project: ProjectOfMine | undefined
  /** Only on the pages of one. */
  advertiser?: AdvertiserOfMine | undefined
}

const LAST_PROJECT = 'parley.project'

/** The place that the address names or, on pages that name none, the project that was looked at last. */
export function usePlace(): Place {
  const me = useMe()
  const params = useParams({ strict: false }) as PlaceParams
  return placeOf(me, params)
}

export interface PlaceParams {
  project?: string
  publisher?: string
  advertiser?: string
}

export function placeOf(me: Me, params: PlaceParams): Place {
  const advertiser = me.advertisers.find(({ id }) => id === params.advertiser)
  const projectId = params.project ?? localStorage.getItem(LAST_PROJECT) ?? undefined
  const owner =
    me.publishers.find(({ id }) => id === params.publisher) ??
    me.publishers.find(({ projects }) => projects.some(({ id }) => id === projectId)) ??
    me.publishers.find(({ projects }) => projects.length > 0) ??
    me.publishers[0]
  const project = owner?.projects.find(({ id }) => id === projectId) ?? firstOf(owner)
  return { publisher: owner, project, ...(advertiser && { advertiser }) }
}

/** A publisher that has gone live is there for its live project, and not for the sandbox. */
function firstOf(owner: Membership | undefined): ProjectOfMine | undefined {
  return owner?.projects.find(({ isSandbox }) => !isSandbox) ?? owner?.projects[0]
}

export function rememberProject(id: string): void {
  localStorage.setItem(LAST_PROJECT, id)
}

export interface CurrentProject extends ProjectOfMine {
  publisher: Membership
  role: Role
  /** Whether the signed-in person may do what needs this role here. */
  may(role: Role): boolean
}

/** For pages under /projects/:project. The route has made sure that the project is one of the caller's. */
export function useProject(): CurrentProject {
  const { publisher, project } = usePlace()
  if (publisher === undefined || project === undefined) throw new Error('a project page was drawn without a project')
  return { ...project, publisher, role: publisher.role, may: (role) => mayActAs(publisher.role, role) }
}

/** For pages under /publishers/:publisher. */
export function usePublisher(): Membership & { may(role: Role): boolean } {
  const { publisher } = usePlace()
  if (publisher === undefined) throw new Error('a publisher page was drawn without a publisher')
  return { ...publisher, may: (role) => mayActAs(publisher.role, role) }
}

export const ADVERTISER_ROLES: AdvertiserOfMine['role'][] = ['admin', 'editor', 'viewer']

/** For pages under /advertisers/:advertiser. */
export function useAdvertiser(): AdvertiserOfMine & { may(role: AdvertiserOfMine['role']): boolean } {
  const { advertiser } = usePlace()
  if (advertiser === undefined) throw new Error('a page of an advertiser was drawn without one')
  const held = ADVERTISER_ROLES.indexOf(advertiser.role)
  return { ...advertiser, may: (role) => held <= ADVERTISER_ROLES.indexOf(role) }
}
