import { appendAuditLog, INSTALLATION, type AuditEntry } from '../store/accounts/audit-log.ts'
import type { Tx } from '../store/database.ts'
import { listMemberships } from '../store/accounts/members.ts'
import type { Actor, Person } from './actor.ts'

/** The log that an entry belongs to. */
export interface Place {
  publisherId: string
  projectId?: string | undefined
}

export interface Change {
  /** The object that was changed, as people call it: a name, an address. */
  subject?: string
  /** Before and after, counts, ids. Never a secret. */
  details?: Record<string, unknown>
}

/** Writes who did what into a publisher's log, in the transaction of the change. Actions read like `key.created`. */
export async function audit(
  tx: Tx,
  actor: Actor,
  place: Place,
  action: string,
  { subject, details = {} }: Change = {},
): Promise<void> {
  await appendAuditLog(tx, {
    publisherId: place.publisherId,
    projectId: place.projectId ?? null,
    action,
    subject: subject?.slice(0, SUBJECT_CHARS_MAX) ?? null,
    ...columnsOf(actor, fitting(details)),
  })
}

/** The project that something is done to. */
export interface ProjectAtHand {
  id: string
  name: string
  publisherId: string
}

/** The same about a project, which is what was changed unless something else is named. */
export async function auditProject(
  tx: Tx,
  actor: Actor,
  { id: projectId, name, publisherId }: ProjectAtHand,
  action: string,
  { subject = name, details }: Change = {},
): Promise<void> {
  await audit(tx, actor, { publisherId, projectId }, action, { subject, ...(details && { details }) })
}

/** The same for what belongs to no publisher: the catalogue, advertisers, switches of the whole installation. */
export async function auditInstallation(tx: Tx, actor: Actor, action: string, change: Change = {}): Promise<void> {
  await audit(tx, actor, { publisherId: INSTALLATION }, action, change)
}

/** About an advertiser: what its members do is in its own log, and what operators do in the installation's. */
export async function auditAdvertiser(
  tx: Tx,
  actor: Actor,
  advertiserId: string,
  action: string,
  change: Change = {},
): Promise<void> {
  if (actor.kind === 'person') await audit(tx, actor, { publisherId: advertiserId }, action, change)
  else await auditInstallation(tx, actor, action, change)
}

/** Actions of people on their own account concern every publisher that they can act for. */
export async function auditEverywhere(tx: Tx, person: Person, action: string, change: Change = {}): Promise<void> {
  for (const { publisherId } of await listMemberships(tx, person.id))
    await audit(tx, person, { publisherId }, action, change)
}

/** The log's columns hold a little more. A change must not fail because its description is long. */
const SUBJECT_CHARS_MAX = 300
const DETAILS_CHARS_MAX = 2_500
const DETAIL_CHARS_MAX = 300

function fitting(details: Record<string, unknown>): Record<string, unknown> {
  if (JSON.stringify(details).length <= DETAILS_CHARS_MAX) return details
  const short = Object.entries(details).filter(([, value]) => (JSON.stringify(value)?.length ?? 0) <= DETAIL_CHARS_MAX)
  return { ...Object.fromEntries(short), leftOut: Object.keys(details).length - short.length }
}

type ActorColumns = Pick<AuditEntry, 'actorId' | 'actor' | 'ip' | 'userAgent' | 'details'>

function columnsOf(actor: Actor, details: Record<string, unknown>): ActorColumns {
  switch (actor.kind) {
    case 'person':
      return { actorId: actor.id, actor: actor.name, ...actor.from, details }
    case 'operator':
      return {
        ...NOBODY,
        actor: 'operator',
        details: { ...details, systemUser: actor.id, ...(actor.reason !== undefined && { reason: actor.reason }) },
      }
    case 'parley':
      return { ...NOBODY, actor: 'Parley', details }
  }
}

const NOBODY = { actorId: null, ip: null, userAgent: null }
