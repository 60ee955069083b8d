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
  failing: 'verified, but the proof is missing: requests are answered until it has been missing for 7 days',
  lapsed: 'no longer verified, the proof was missing for 7 days: requests are refused',
}

const NO_RECORD = 'none: the domain of a sandbox is yours'

export function addDomainCommands(program: Command): void {
  const domain = program.command('domain').description('where a project is published, and whether that is verified')
  addCommand(domain, 'show', "show a project's domain", `parley domain show ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore(show))
  addChange(
    domain,
    'set',
    'change the domain of a project, which then has to be verified',
    `parley domain set ${EXAMPLE_ID} example.org`,
  )
    .argument('<project>')
    .addArgument(new Argument('<name>', 'for example example.com').argParser(domainOf))
    .action(withStore(set))
  addChange(domain, 'verify', 'mark the domain as verified, on your authority', `parley domain verify ${EXAMPLE_ID}`)
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
      record: domain.provenBy === 'sandbox' ? NO_RECORD : `TXT ${record.name} ${record.value}`,
      state: STATES[domainStateOf(domain)],
      'verified at': domain.verifiedAt,
      'checked at': domain.checkedAt,
      'next check': domain.nextCheckAt,
    }),
  }
}

async function set(session: Session, projectId: string, name: string): Promise<Output> {
  const project = projectAtHand(await projectOf(session.db, projectId))
  const sandboxDomain = session.config.PARLEY_SANDBOX_DOMAIN
  await session.change((tx) => changeDomain(tx, session.actor, { project, name, sandboxDomain }))
  return show(session, projectId)
}

async function setVerified(session: Session, projectId: string, isVerified: boolean): Promise<Output> {
  const project = projectAtHand(await projectOf(session.db, projectId))
  await session.change((tx) => setDomainVerified(tx, session.actor, { project, isVerified }))
  return show(session, projectId)
}
