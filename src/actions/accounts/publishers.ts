import { uuidv7 } from '../../platform/uuid.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/accounts/publishers.ts'
import type { Actor } from '../actor.ts'
import { audit } from '../audit.ts'
import { notThere } from '../refusals.ts'

interface NewPublisher {
  name: string
  email: string | null
  isActivated: boolean
}

/** One that an operator adds. Those that people sign up for come with a person: see people.ts. */
export async function createPublisher(tx: Tx, actor: Actor, { name, email, isActivated }: NewPublisher) {
  const publisher = { id: uuidv7(), name, email, activatedAt: isActivated ? new Date() : null }
  await store.insertPublisher(tx, publisher)
  const change = { subject: name, details: { isActivated } }
  await audit(tx, actor, { publisherId: publisher.id }, 'publisher.created', change)
  return publisher
}

/** Without it, its requests are refused. Returns since when it may make them. */
export async function setPublisherActivated(
  tx: Tx,
  actor: Actor,
  { publisherId, isActivated }: { publisherId: string; isActivated: boolean },
): Promise<Date | null> {
  const publisher = await store.lockPublisher(tx, publisherId)
  if (!publisher) throw notThere('publisher')
  const activatedAt = isActivated ? new Date() : null
  await store.setPublisherActivated(tx, publisherId, activatedAt)
  const action = isActivated ? 'publisher.activated' : 'publisher.deactivated'
  await audit(tx, actor, { publisherId }, action, { subject: publisher.name })
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
