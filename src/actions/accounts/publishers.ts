import { uuidv7 } from '../../platform/uuid.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/accounts/publishers.ts'
import type { Actor } from '../actor.ts'
import { audit } from '../audit.ts'
import { notThere } from '../refusals.ts'
import { createSandbox } from '../sandbox.ts'

interface NewPublisher {
  name: string
  email: string | null
  isActivated: boolean
  /** See createSandbox. */
  sandboxDomain: string | undefined
}

/** One that an operator adds. Those that people sign up for come with a person: see people.ts. */
export async function createPublisher(tx: Tx, actor: Actor, input: NewPublisher) {
  const { name, email, isActivated, sandboxDomain } = input
  const publisher = { id: uuidv7(), name, email, activatedAt: isActivated ? new Date() : null }
  await store.insertPublisher(tx, publisher)
  const change = { subject: name, details: { isActivated } }
  await audit(tx, actor, { publisherId: publisher.id }, 'publisher.created', change)
  if (isActivated) await createSandbox(tx, actor, { publisherId: publisher.id, sandboxDomain })
  return publisher
}

/** Without it, its requests are refused. With the first one comes its sandbox. Returns since when it may make them. */
export async function setPublisherActivated(
  tx: Tx,
  actor: Actor,
  input: { publisherId: string; isActivated: boolean; sandboxDomain: string | undefined },
): Promise<Date | null> {
  const { publisherId, isActivated, sandboxDomain } = input
  const publisher = await store.lockPublisher(tx, publisherId)
  if (!publisher) throw notThere('publisher')
  const activatedAt = isActivated ? new Date() : null
  await store.setPublisherActivated(tx, publisherId, activatedAt)
  const action = isActivated ? 'publisher.activated' : 'publisher.deactivated'
  await audit(tx, actor, { publisherId }, action, { subject: publisher.name })
  if (isActivated) await createSandbox(tx, actor, { publisherId, sandboxDomain })
  return activatedAt
}

export async function renamePublisher(
  tx: Tx,
  actor: Actor,
  { publisher, name }: { publisher: { id: string; name: string }; name: string },
): Promise<void> {
  await store.setPublisherName(tx, publisher.id, name)
  const change = { subject: name, details: { before: publisher.name } }
  await audit(tx, actor, { publisherId: publisher.id }, 'publisher.renamed', change)
}
