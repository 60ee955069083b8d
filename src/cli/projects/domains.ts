import { Argument, type Command } from 'commander'
import { changeDomain, setDomainVerified } from '../../actions/projects/domains.ts'
import { domainStateOf, proofRecordOf, type DomainState } from '../../rules/projects/domains.ts'
import { findDomain } from '../../store/projects/domains.ts'
import { domainOf } from '../arguments.ts'
import { expectId, unknownId } from '../failures.ts'
import { facts, type Output } from '../print.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

const STATES: Record<DomainState, string> = {
  pending: 'not verified: requests are refused',
  verified: 'verified',
  failing: 'verified, but the proof is gone: requests are served until it has been missing for 7 days',
  lapsed: 'not verified any more, the proof was missing for 7 days: requests are refused',
}

export function addDomainCommands(program: Command): void {
  const domain = program.command('domain').description('where a project is published, and whether that is proven')
  addCommand(domain, 'show', "show a project's domain", `parley domain show ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore(show))
  addChange(
    domain,
    'set',
    'give a project another domain, which has to be verified anew',
    `parley domain set ${EXAMPLE_ID} example.org`,
  )
    .argument('<project>')
    .addArgument(new Argument('<name>', 'for example example.com').argParser(domainOf))
    .action(withStore(set))
  addChange(domain, 'verify', 'declare the domain proven: you decide', `parley domain verify ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore((session, project: string) => setVerified(session, project, true)))
  addChange(
    domain,
    'unverify',
    'refuse requests again (403), until a new record proves it',
    `parley domain unverify ${EXAMPLE_ID}`,
  )
    .argument('<project>')
    .action(withStore((session, project: string) => setVerified(session, project, false)))
}

async function show({ db }: Session, projectId: string): Promise<Output> {
  expectId('project', projectId)
  const domain = await findDomain(db, projectId)
  if (!domain) throw unknownId('project', projectId)
  const record = proofRecordOf(domain.name, domain.token)
  return {
    document: {
      project_id: projectId,
      name: domain.name,
      verification_token: domain.token,
      state: domainStateOf(domain),
      verified_at: domain.verifiedAt,
      proven_by: domain.provenBy,
      failing_since: domain.failingSince,
      lapsed_at: domain.lapsedAt,
      checked_at: domain.checkedAt,
      next_check_at: domain.nextCheckAt,
    },
    text: facts({
      project: projectId,
      domain: domain.name,
      token: domain.token,
      record: `TXT ${record.name} ${record.value}`,
      state: STATES[domainStateOf(domain)],
      'verified at': domain.verifiedAt,
      'checked at': domain.checkedAt,
      'next check': domain.nextCheckAt,
    }),
  }
}

async function set(session: Session, projectId: string, name: string): Promise<Output> {
  const project = projectAtHand(await projectOf(session.db, projectId))
  await session.change((tx) => changeDomain(tx, session.actor, { project, name }))
  return show(session, projectId)
}

async function setVerified(session: Session, projectId: string, isVerified: boolean): Promise<Output> {
  const project = projectAtHand(await projectOf(session.db, projectId))
  await session.change((tx) => setDomainVerified(tx, session.actor, { project, isVerified }))
  return show(session, projectId)
}
