import type { CurrentProject } from '../../session.ts'

type Maker = Pick<CurrentProject, 'may' | 'domainVerifiedAt'> & { publisher: { activatedAt: string | null } }

/** Returns what has to be done before a pair can be made, most important first. */
export function obstacleOf({ publisher, domainVerifiedAt }: Omit<Maker, 'may'>): 'account' | 'domain' | undefined {
  if (publisher.activatedAt === null) return 'account'
  return domainVerifiedAt === null ? 'domain' : undefined
}

export function mayMakePair(project: Maker): boolean {
  return project.may('developer') && obstacleOf(project) === undefined
}
