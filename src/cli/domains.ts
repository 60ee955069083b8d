import { randomBytes } from 'node:crypto'
import { Argument, InvalidArgumentError, type Command } from 'commander'
import { findDomain, setDomainName, setDomainVerified } from '../store/projects.ts'
import { expectId, unknownId } from './failures.ts'
import { facts, type Output } from './print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from './session.ts'

const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

export function addDomainCommands(program: Command): void {
  const domain = program.command('domain').description('where a project is published, and whether that is proven')
  addCommand(domain, 'show', "show a project's domain", `parley domain show ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore(show))
  addCommand(
    domain,
    'set',
    'give a project another domain, which has to be verified anew',
    `parley domain set ${EXAMPLE_ID} example.org`,
  )
    .argument('<project>')
    .addArgument(new Argument('<name>', 'for example example.com').argParser(domainOf))
    .action(withStore(set))
  addCommand(domain, 'verify', 'declare the domain proven: you decide', `parley domain verify ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore((session, project: string) => setVerified(session, project, new Date())))
  addCommand(domain, 'unverify', 'refuse requests again (403)', `parley domain unverify ${EXAMPLE_ID}`)
    .argument('<project>')
    .action(withStore((session, project: string) => setVerified(session, project, null)))
}

/** The name as DNS knows it: lower case, and punycode for other scripts. */
export function domainOf(text: string): string {
  const bare = text.trim().replace(/\.$/, '')
  const name = /[/:@?#\s]/.test(bare) ? undefined : URL.parse(`http://${bare}`)?.hostname
  if (name === undefined || !DOMAIN.test(name)) {
    throw new InvalidArgumentError('Write a domain like example.com, without https:// and without a path.')
  }
  return name
}

export function newVerificationToken(): string {
  return randomBytes(16).toString('hex')
}

async function show({ db }: Session, projectId: string): Promise<Output> {
  expectId('project', projectId)
  const domain = await findDomain(db, projectId)
  if (!domain) throw unknownId('project', projectId)
  return {
    document: domain,
    text: facts({
      project: projectId,
      domain: domain.name,
      token: domain.verification_token,
      state: domain.verified_at ? 'verified' : 'not verified: requests are refused',
      'verified at': domain.verified_at,
    }),
  }
}

async function set(session: Session, projectId: string, name: string): Promise<Output> {
  expectId('project', projectId)
  if (!(await setDomainName(session.db, projectId, name, newVerificationToken()))) throw unknownId('project', projectId)
  return show(session, projectId)
}

async function setVerified(session: Session, projectId: string, verifiedAt: Date | null): Promise<Output> {
  expectId('project', projectId)
  if (!(await setDomainVerified(session.db, projectId, verifiedAt))) throw unknownId('project', projectId)
  return show(session, projectId)
}
