/**
 * A page of the console describes itself in `pages/<noun>/page.ts`. The router and the navigation are made from these
 * descriptions, so a page that does not exist is nowhere offered, and adding one touches no shared file.
 */
import type { RouteComponent } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'

export type Role = 'owner' | 'admin' | 'developer' | 'viewer'
export type Scope = 'project' | 'publisher' | 'account' | 'advertiser'
export type NavGroup = 'project' | 'build' | 'observe' | 'money' | 'manage'

export interface Page {
  /** The beginning of the address: /projects/:project, /publishers/:publisher, /advertisers/:advertiser or /account. */
  scope: Scope
  /** The rest of the address, such as `keys` or `calls/$call`; empty for the first page of the scope. */
  path: string
  label: string
  component: RouteComponent
  /** Other words that people look for it by, in lower case. */
  keywords?: string
  /** Absent for pages that are reached from another page; offered only to those with the role. */
  nav?: { group: NavGroup; order: number; icon: LucideIcon; role?: Role }
}

/** Each role includes those after it. */
export const ROLES: Role[] = ['owner', 'admin', 'developer', 'viewer']

export function mayActAs(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(needed)
}

export function definePage(page: Page): Page {
  return page
}

/** Whether the page is about something that is there, and its role allows it. */
export function isOffered({ scope, nav }: Page, place: OfferedIn): boolean {
  // An advertiser's pages have a navigation of their own.
  if ((place.advertiser === undefined) === (scope === 'advertiser')) return scope === 'account'
  if (scope !== 'account' && place[scope] === undefined) return false
  return nav?.role === undefined || (place.publisher !== undefined && mayActAs(place.publisher.role, nav.role))
}

interface OfferedIn {
  project: object | undefined
  publisher: { role: Role } | undefined
  advertiser?: object | undefined
}

const PREFIXES: Record<Scope, string> = {
  project: '/projects/$project',
  publisher: '/publishers/$publisher',
  account: '/account',
  advertiser: '/advertisers/$advertiser',
}

export function patternOf(page: Page): string {
  return page.path === '' ? PREFIXES[page.scope] : `${PREFIXES[page.scope]}/${page.path}`
}

export function addressOf(
  page: Page,
  place: { project?: string | undefined; publisher?: string | undefined; advertiser?: string | undefined },
): string {
  return patternOf(page)
    .replace('$advertiser', place.advertiser ?? '')
    .replace('$project', place.project ?? '')
    .replace('$publisher', place.publisher ?? '')
}
