import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { EARNINGS_PENDING_DAYS } from '../../rules/clicks/earnings.ts'
import { ParleyError } from '../../rules/errors.ts'
import { formatCredits } from '../../rules/money.ts'
import * as credentials from '../../store/accounts/credentials.ts'
import type { Account } from '../../store/accounts/credentials.ts'
import { countMembers, listMemberships, listOwners, lockTeam } from '../../store/accounts/members.ts'
import { closePublisher } from '../../store/accounts/publishers.ts'
import * as users from '../../store/accounts/users.ts'
import { sumOwed } from '../../store/billing/wallets.ts'
import type { Tx } from '../../store/database.ts'
import { listProjects } from '../../store/projects/projects.ts'
import { sumPending } from '../../store/recommendations/earnings.ts'
import { PARLEY, type Person } from '../actor.ts'
import { audit, auditEverywhere } from '../audit.ts'
import { postMail } from '../mails.ts'
import { conflict, notThere } from '../refusals.ts'
import { createSandbox } from '../sandbox.ts'
import { leaveAdvertisers } from './advertiser-members.ts'
import { leavePublisher } from './members.ts'

/** Actions of people on their own account. */

interface Mailing {
  secrets: Secrets
  consoleUrl: string
}

interface SignUp {
  from: Person['from']
  name: string
  email: string
  passwordHash: string
  publisherName: string
  trialCredit: bigint
}

/** Makes a person and the publisher that they own. Undefined when the address is taken. */
export async function signUp(tx: Tx, { from, ...account }: SignUp): Promise<Account | undefined> {
  const { name, email, passwordHash } = account
  const person: Person = { kind: 'person', id: uuidv7(), name, from }
  const ids = { userId: person.id, credentialId: uuidv7(), publisherId: uuidv7() }
  if (!(await users.insertAccount(tx, { ...account, ...ids }))) return undefined
  await auditEverywhere(tx, person, 'publisher.signed_up')
  return { id: person.id, name, email, passwordHash, emailVerified: false }
}

export async function renamePerson(tx: Tx, person: Person, { name }: { name: string }): Promise<void> {
  await users.setUserName(tx, person.id, name)
  await auditEverywhere(tx, person, 'user.renamed', { subject: name, details: { before: person.name } })
}

export async function endSession(tx: Tx, person: Person, { sessionId }: { sessionId: string }): Promise<void> {
  if (!(await users.deleteSession(tx, person.id, sessionId))) throw notThere('session')
  await auditEverywhere(tx, person, 'user.session_ended')
}

export async function endSessions(
  tx: Tx,
  person: Person,
  { exceptId }: { exceptId: string | undefined },
): Promise<void> {
  await users.deleteSessions(tx, person.id, exceptId)
  await auditEverywhere(tx, person, 'user.signed_out_everywhere')
}

/** The settings for the steps that follow a confirmed address. */
interface Activation {
  /** Unless the operator activates each publisher. */
  isActivating: boolean
  /** See createSandbox. */
  sandboxDomain: string | undefined
}

interface NewPassword extends Mailing {
  account: Account
  passwordHash: string
}

export async function changePassword(tx: Tx, person: Person, input: NewPassword): Promise<void> {
  if (!(await credentials.replacePassword(tx, input.account, input.passwordHash))) throw new ParleyError('conflict')
  await auditEverywhere(tx, person, 'user.password_changed')
  await tellOfPassword(tx, input)
}

/** By a link to the person's address, which proves that it is theirs. */
export async function resetPassword(tx: Tx, person: Person, input: NewPassword & Activation): Promise<void> {
  const { account, passwordHash } = input
  const details: Record<string, unknown> = {}
  // Its signature holds for the password that is being replaced: a link sets one password, also when used twice at once.
  if (!(await credentials.replacePassword(tx, account, passwordHash))) throw staleLink()
  if (!account.emailVerified) {
    const keyPairs = await credentials.removeTracesOfMaker(tx, account.id)
    await markConfirmed(tx, person, input)
    if (keyPairs > 0) details.keyPairsDeleted = keyPairs
  }
  await auditEverywhere(tx, person, 'user.password_reset', { details })
  await tellOfPassword(tx, input)
}

/** By such a link and the account's password. */
export async function confirmAddress(tx: Tx, person: Person, input: Activation): Promise<void> {
  await credentials.signOutEverywhere(tx, person.id)
  await markConfirmed(tx, person, input)
}

async function markConfirmed(tx: Tx, person: Person, { isActivating, sandboxDomain }: Activation): Promise<void> {
  if (!(await credentials.confirmAddress(tx, person.id))) throw staleLink()
  const activated = await users.confirmPublishers(tx, person.id, isActivating)
  await auditEverywhere(tx, person, 'user.address_confirmed')
  for (const publisherId of activated) await createSandbox(tx, PARLEY, { publisherId, sandboxDomain })
}

export function staleLink(): ParleyError {
  return new ParleyError('invalid_value', { message: 'This link is no longer valid. Ask for a new one.' })
}

async function tellOfPassword(tx: Tx, { account, secrets, consoleUrl }: NewPassword): Promise<void> {
  const data = { link: `${consoleUrl}/sign-in` }
  await postMail(tx, secrets, { recipient: account.email, template: 'password_changed', data })
}

type LibraryEvent =
  | 'user.signed_in'
  | 'user.signed_in_by_recovery_code'
  | 'user.signed_in_by_passkey'
  | 'user.two_factor_enabled'
  | 'user.recovery_codes_renewed'

/** Logs an event of the sign-in library, which has already written its own tables: the two are not one transaction. */
export async function recordSignIn(tx: Tx, person: Person, event: LibraryEvent): Promise<void> {
  await auditEverywhere(tx, person, event)
}

/** They have just shown, in this session, that it is them. */
export async function recordProof(tx: Tx, person: Person, { sessionId }: { sessionId: string }): Promise<void> {
  if (!(await credentials.markProven(tx, sessionId))) throw new ParleyError('signed_out')
  await auditEverywhere(tx, person, 'user.identity_proven')
}

export async function removeSecondFactor(tx: Tx, person: Person): Promise<void> {
  await credentials.removeSecondFactor(tx, person.id)
  await auditEverywhere(tx, person, 'user.two_factor_disabled')
}

/**
 * The person goes; a publisher of whom they were the only member is closed: its keys end and nobody can act for it. What
 * it owes and was charged stays in the ledger. Not while it has credit or pending earnings, which would be lost with it, or
 * owes some.
 */
export async function deletePerson(tx: Tx, person: Person, { email }: { email: string }): Promise<void> {
  for (const { publisherId, publisherName } of await listMemberships(tx, person.id)) {
    await lockTeam(tx, publisherId)
    const owners = await listOwners(tx, publisherId)
    const isLastOwner = owners.length === 1 && owners.includes(person.id)
    if (!isLastOwner) {
      await leavePublisher(tx, person, { publisher: { id: publisherId }, email })
      continue
    }
    if ((await countMembers(tx, publisherId)) > 1)
      throw conflict(`You are the last owner of ${publisherName}. Make someone else an owner, or remove the others.`)
    await expectNothingLeft(tx, publisherId, publisherName)
    await audit(tx, person, { publisherId }, 'publisher.closed', { subject: publisherName })
    await closePublisher(tx, publisherId)
  }
  await leaveAdvertisers(tx, person, { email })
  await users.deleteUser(tx, person.id)
}

async function expectNothingLeft(tx: Tx, publisherId: string, publisherName: string): Promise<void> {
  const owed = await sumOwed(tx, publisherId)
  if (owed > 0n)
    throw conflict(`${publisherName} owes ${formatCredits(owed)} of credit. Top up the wallet that owes it first.`)
  // Credit left in a sandbox was a gift, and goes with it.
  const own = (await listProjects(tx, publisherId)).filter(({ is_sandbox: isSandbox }) => !isSandbox)
  const balance = own.reduce((sum, project) => sum + project.balance_nanos, 0n)
  if (balance > 0n)
    throw conflict(`${publisherName} still has ${formatCredits(balance)} of credit. Use it, or ask for it back first.`)
  // They would stay pending for good: nothing is released to a publisher that is closed.
  const pending = await sumPending(tx, publisherId)
  if (pending > 0n)
    throw conflict(
      `${publisherName} still has ${formatCredits(pending)} of pending earnings. They go to the wallet after ${EARNINGS_PENDING_DAYS} days. Wait until then, or delete the project and confirm that they may be lost.`,
    )
}
