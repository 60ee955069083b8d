import { formatCredits } from '../../rules/money.ts'
import { lockPublisher } from '../../store/accounts/publishers.ts'
import {
  findLimits,
  LIMIT_COLUMNS,
  NO_LIMITS,
  replaceLimits,
  type LimitSubject,
  type LimitValues,
} from '../../store/billing/limits.ts'
import { findEndUser } from '../../store/calls/end-users.ts'
import type { Tx } from '../../store/database.ts'
import { lockKeyPair } from '../../store/projects/key-pairs.ts'
import { lockProject } from '../../store/projects/projects.ts'
import type { Actor } from '../actor.ts'
import { audit, type ProjectAtHand } from '../audit.ts'
import { notThere } from '../refusals.ts'
import { refuseInSandbox } from '../sandbox.ts'

/** The subject of limits: an account, a project, a key pair, every end user of a project, or one of them. */
export type Limited =
  | { scope: 'publisher'; publisherId: string }
  | { scope: 'project' | 'end_users'; project: ProjectAtHand }
  | { scope: 'key_pair'; project: ProjectAtHand; keyId: string }
  | { scope: 'end_user'; project: ProjectAtHand; endUserId: string }

/** Undefined: stays as it is. Null: no such limit. */
export type LimitChanges = { [Name in keyof LimitValues]?: LimitValues[Name] | undefined }

/**
 * They are the publisher's own, but for those of a sandbox, which are the operator's. What an operator allows a project at most is in its row of projects, holds beside them, and is
 * changed by `changeLimits` alone.
 */
export async function setLimits(
  tx: Tx,
  actor: Actor,
  { of, limits }: { of: Limited; limits: LimitChanges },
): Promise<void> {
  if (of.scope === 'project' && actor.kind === 'person') await refuseInSandbox(tx, of.project, 'limits')
  const { name, ...subject } = await lockSubject(tx, of)
  const [before = NO_LIMITS] = await findLimits(tx, [subject])
  const after = { ...NO_LIMITS }
  const details: Record<string, string> = {}
  for (const column of LIMIT_COLUMNS) {
    const [old, wanted = old] = [before[column], limits[column]]
    Object.assign(after, { [column]: wanted })
    if (old !== wanted) details[wordOf(column)] = `${shown(column, old)} → ${shown(column, wanted)}`
  }
  if (Object.keys(details).length === 0) return
  await replaceLimits(tx, subject, after)
  const place = { publisherId: subject.publisherId, projectId: subject.projectId ?? undefined }
  await audit(tx, actor, place, 'limits.changed', { subject: name, details: { of: subject.scope, ...details } })
}

/** Others who set limits of the same subject wait, and then see what was set. */
async function lockSubject(tx: Tx, of: Limited): Promise<LimitSubject & { name: string }> {
  if (of.scope === 'publisher') {
    const { scope, publisherId } = of
    const publisher = await lockPublisher(tx, publisherId)
    if (!publisher) throw notThere('publisher')
    return { scope, subject: publisherId, publisherId, projectId: null, name: publisher.name }
  }
  const { publisherId, id: projectId, name } = of.project
  if (!(await lockProject(tx, projectId))) throw notThere('project')
  const place = { scope: of.scope, publisherId, projectId }
  if (of.scope === 'key_pair') {
    const pair = await lockKeyPair(tx, projectId, of.keyId)
    if (!pair) throw notThere('key')
    return { ...place, subject: pair.counted_as ?? pair.id, name: pair.name }
  }
  if (of.scope !== 'end_user') return { ...place, subject: projectId, name }
  if (!(await findEndUser(tx, { projectId, id: of.endUserId }))) throw notThere('end user')
  // Never by their label: the log is kept when they are erased.
  return { ...place, subject: of.endUserId, name: of.endUserId }
}

function wordOf(column: keyof LimitValues): string {
  return column.replace(/_nanos$/, '_budget')
}

function shown(column: keyof LimitValues, value: number | bigint | null): string {
  if (value === null) return 'none'
  return column.endsWith('_nanos') ? formatCredits(BigInt(value)) : String(value)
}
