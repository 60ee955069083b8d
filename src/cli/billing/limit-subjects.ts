import type { Limited } from '../../actions/billing/limits.ts'
import type { Command } from 'commander'
import type { LimitSubject } from '../../store/billing/limits.ts'
import { findEndUser } from '../../store/calls/end-users.ts'
import type { Db } from '../../store/database.ts'
import { findKeyPair } from '../../store/projects/keys.ts'
import { CliError, expectId, unknownId } from '../failures.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'

/** The options that name the subject of limits. */
export interface SubjectOptions {
  publisher?: string
  project?: string
  key?: string
  endUsers?: string
  endUser?: string
}

export function withSubject(command: Command): Command {
  return command
    .option('--publisher <id>', 'of an account: all its projects together')
    .option('--project <id>', 'of a project')
    .option('--key <publishable-key>', 'of a key pair, and of the pairs it replaced')
    .option('--end-users <project>', 'of every end user of a project, each separately')
    .option('--end-user <id>', 'with --project: of one end user')
}

export interface NamedSubject {
  of: Limited
  subject: Pick<LimitSubject, 'scope' | 'subject'>
  /** Undefined: an account's. */
  projectId: string | undefined
}

export async function subjectOf(db: Db, options: SubjectOptions): Promise<NamedSubject> {
  const { publisher, project, key, endUsers, endUser } = options
  const given = [publisher, project, key, endUsers].filter((option) => option !== undefined)
  if (given.length !== 1 || (endUser !== undefined && project === undefined))
    throw new CliError('Choose one of --publisher, --project, --key and --end-users, or use --project with --end-user.')
  if (publisher !== undefined) {
    expectId('publisher', publisher)
    const of = { scope: 'publisher', publisherId: publisher } as const
    return { of, subject: { scope: of.scope, subject: publisher }, projectId: undefined }
  }
  if (key !== undefined) return keySubject(db, key)
  const row = await projectOf(db, project ?? endUsers ?? '')
  const named = projectAtHand(row)
  if (endUser === undefined) {
    const scope = project === undefined ? 'end_users' : 'project'
    return { of: { scope, project: named }, subject: { scope, subject: row.id }, projectId: row.id }
  }
  expectId('end user', endUser)
  const found = await findEndUser(db, { projectId: row.id, id: endUser })
  if (!found) throw unknownId('end user', endUser)
  const scope = 'end_user' as const
  return {
    of: { scope, project: named, endUserId: found.id },
    subject: { scope, subject: found.id },
    projectId: row.id,
  }
}

async function keySubject(db: Db, publishableKey: string): Promise<NamedSubject> {
  const pair = await findKeyPair(db, publishableKey)
  if (!pair) throw unknownId('key pair', publishableKey)
  const scope = 'key_pair' as const
  const project = projectAtHand(await projectOf(db, pair.projectId))
  return {
    of: { scope, project, keyId: pair.id },
    subject: { scope, subject: pair.countedAs ?? pair.id },
    projectId: project.id,
  }
}
