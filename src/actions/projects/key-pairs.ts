import { randomBytes } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { DAY_MS } from '../../rules/durations.ts'
import type { MailData } from '../../rules/accounts/mails.ts'
import { ParleyError } from '../../rules/errors.ts'
import { keyStatusOf } from '../../rules/projects/key-status.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom, secretDigestOf, type KeyPair } from '../../rules/projects/keys.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/projects/key-pairs.ts'
import { insertKeyPair, type NewKeyPair } from '../../store/projects/keys.ts'
import { findProject } from '../../store/projects/projects.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { postEvent } from '../events.ts'
import { mailOwners } from '../mails.ts'
import { conflict, notThere } from '../refusals.ts'
import { expectProject } from './lock.ts'

const PAIRS_MAX = 100

/** The settings that a key pair and the mails about it need. */
export interface KeyPairInstallation {
  secrets: Secrets
  cell: string
  consoleUrl: string
}

interface KeyPairInput {
  project: ProjectAtHand
  keyId: string
}

/** A pair with its secret, which exists nowhere else: only a digest is stored. */
export interface MintedKeyPair {
  id: string
  name: string
  publishableKey: string
  secretKey: string
}

export async function createKeyPair(
  tx: Tx,
  actor: Actor,
  input: { project: ProjectAtHand; name: string; expiresInDays: number | null; installation: KeyPairInstallation },
): Promise<MintedKeyPair> {
  const { project, name, expiresInDays, installation } = input
  await expectProject(tx, project.id)
  // An operator may set things up in any order, and is told what is missing.
  if (actor.kind === 'person') await expectUsable(tx, project.id)
  await expectRoom(tx, project.id)
  const expiresAt = expiresInDays === null ? null : new Date(Date.now() + expiresInDays * DAY_MS)
  const { pair, minted } = mint(installation, { projectId: project.id, name, expiresAt, createdBy: personOf(actor) })
  await insertKeyPair(tx, pair)
  const details = { key: minted.publishableKey, expiresAt }
  await auditProject(tx, actor, project, 'key.created', { subject: name, details })
  await postCreated(tx, pair, null)
  await tellOwners(tx, actor, input, 'key_created', name)
  return minted
}

/** Calls with the pair would be refused otherwise; whoever makes it should know before they build on it. */
async function expectUsable(tx: Tx, projectId: string): Promise<void> {
  const project = await findProject(tx, projectId)
  if (!project?.publisher_activated_at) throw new ParleyError('account_not_activated')
  if (!project.domain_verified_at) throw new ParleyError('domain_not_verified')
}

export async function rollKeyPair(
  tx: Tx,
  actor: Actor,
  input: KeyPairInput & { overlapSeconds: number; installation: KeyPairInstallation },
): Promise<MintedKeyPair & { oldEndsAt: Date }> {
  const { project, overlapSeconds, installation } = input
  await expectProject(tx, project.id)
  const old = await lockPair(tx, input)
  const status = keyStatusOf(old, Date.now())
  if (old.replaced_by !== null)
    throw conflict('This pair has already been replaced. Roll the pair that took its place.')
  if (status !== 'active') throw conflict(`This pair is ${status}, so there is nothing to hand over. Make a new pair.`)
  await expectRoom(tx, project.id)
  // As long as the old one was meant to last.
  const expiresAt = old.expires_at && new Date(Date.now() + old.expires_at.getTime() - old.created_at.getTime())
  const wanted = {
    projectId: project.id,
    name: old.name,
    expiresAt,
    createdBy: personOf(actor),
    countedAs: old.counted_as ?? old.id,
  }
  const { pair, minted } = mint(installation, wanted)
  const oldEndsAt = await store.rollKeyPair(tx, old.id, pair, overlapSeconds)
  const details = { old: old.publishable_key, key: minted.publishableKey, oldEndsAt }
  await auditProject(tx, actor, project, 'key.rolled', { subject: old.name, details })
  await postCreated(tx, pair, { id: old.id, endsAt: oldEndsAt })
  if (overlapSeconds === 0) await postRevoked(tx, project, old, 'replaced')
  const oldEnds = overlapSeconds === 0 ? 'is refused from now on' : `works until ${oldEndsAt.toUTCString()}`
  await tellOwners(tx, actor, input, 'key_rolled', old.name, { oldEnds })
  return { ...minted, oldEndsAt }
}

/** The end of a pair that was replaced and works on for a while. */
export async function endKeyPair(tx: Tx, actor: Actor, input: KeyPairInput): Promise<void> {
  const pair = await lockPair(tx, input)
  if (pair.replaced_by === null)
    throw conflict('Only a pair that was replaced can be ended. Deactivate this one instead.')
  await store.endKeyPair(tx, input.project.id, pair.id)
  await auditPair(tx, actor, input, 'key.ended', pair)
  await postRevoked(tx, input.project, pair, 'ended')
}

export async function setKeyPairActive(
  tx: Tx,
  actor: Actor,
  input: KeyPairInput & { isActive: boolean },
): Promise<void> {
  // The playground's own pair is shown to nobody, but an operator can switch it off.
  const pair = await lockPair(tx, input, { isPlaygroundToo: actor.kind === 'operator' })
  if (pair.active === input.isActive) return
  await store.switchKeyPair(tx, input.project.id, pair.id, input.isActive)
  await auditPair(tx, actor, input, input.isActive ? 'key.activated' : 'key.deactivated', pair)
  if (!input.isActive) await postRevoked(tx, input.project, pair, 'deactivated')
}

export async function deleteKeyPair(
  tx: Tx,
  actor: Actor,
  input: KeyPairInput & { installation: KeyPairInstallation },
): Promise<void> {
  const pair = await lockPair(tx, input)
  await store.deleteKeyPair(tx, input.project.id, pair.id)
  await auditPair(tx, actor, input, 'key.deleted', pair)
  await postRevoked(tx, input.project, pair, 'deleted')
  await tellOwners(tx, actor, input, 'key_deleted', pair.name)
}

/** A pair of these keys, as it is stored: with a digest in the place of the secret. */
export function storedPairOf(
  { publishable, secret }: KeyPair,
  secrets: Secrets,
  wanted: Omit<NewKeyPair, 'publishableKey' | 'secretDigest' | 'secretVersion' | 'secretLast4'>,
): NewKeyPair {
  return {
    ...wanted,
    publishableKey: publishable,
    secretDigest: secretDigestOf(secret, secrets.keyFor('key-pair-pepper')),
    secretVersion: secrets.version,
    secretLast4: secret.slice(-4),
  }
}

type Wanted = Pick<NewKeyPair, 'projectId' | 'name' | 'expiresAt' | 'createdBy' | 'countedAs'>

function mint({ secrets, cell }: KeyPairInstallation, wanted: Wanted): { pair: NewKeyPair; minted: MintedKeyPair } {
  const keys = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), cell)
  const pair = storedPairOf(keys, secrets, { ...wanted, id: uuidv7() })
  const { id, name, publishableKey } = pair
  return { pair, minted: { id, name, publishableKey, secretKey: keys.secret } }
}

async function expectRoom(tx: Tx, projectId: string): Promise<void> {
  if ((await store.countKeyPairs(tx, projectId)) < PAIRS_MAX) return
  throw conflict(`A project has at most ${PAIRS_MAX} key pairs. Delete some first.`)
}

async function lockPair(
  tx: Tx,
  { project, keyId }: KeyPairInput,
  which?: { isPlaygroundToo: boolean },
): Promise<store.KeyPairRow> {
  const pair = await store.lockKeyPair(tx, project.id, keyId, which)
  if (!pair) throw notThere('key')
  return pair
}

async function auditPair(tx: Tx, actor: Actor, { project }: KeyPairInput, action: string, pair: store.KeyPairRow) {
  const details = { key: pair.publishable_key, last4: pair.secret_last4 }
  await auditProject(tx, actor, project, action, { subject: pair.name, details })
}

/** `replaced`: the pair that it takes over from, which works on until then. */
async function postCreated(tx: Tx, pair: NewKeyPair, replaced: { id: string; endsAt: Date } | null): Promise<void> {
  const { id, projectId, name, publishableKey, expiresAt } = pair
  const data = {
    key_pair_id: id,
    name,
    publishable_key: publishableKey,
    expires_at: expiresAt?.toISOString() ?? null,
    replaces: replaced && { key_pair_id: replaced.id, ends_at: replaced.endsAt.toISOString() },
  }
  await postEvent(tx, { projectId, type: 'key.created', objectKey: `key:${id}`, data })
}

/** Calls with it are refused from now on. */
async function postRevoked(
  tx: Tx,
  { id: projectId }: ProjectAtHand,
  pair: store.KeyPairRow,
  reason: 'deactivated' | 'deleted' | 'ended' | 'replaced',
): Promise<void> {
  const data = { key_pair_id: pair.id, name: pair.name, publishable_key: pair.publishable_key, reason }
  await postEvent(tx, { projectId, type: 'key.revoked', objectKey: `key:${pair.id}`, data })
}

function personOf(actor: Actor): string | undefined {
  return actor.kind === 'person' ? actor.id : undefined
}

type KeyMail = 'key_created' | 'key_rolled' | 'key_deleted'

/** Mails the owners what a member did. When an operator acts for them, telling them is up to the operator. */
async function tellOwners<Template extends KeyMail>(
  tx: Tx,
  actor: Actor,
  { project, installation }: { project: ProjectAtHand; installation: KeyPairInstallation },
  template: Template,
  key: string,
  more?: Omit<MailData[Template], keyof MailData['key_created']>,
): Promise<void> {
  if (actor.kind !== 'person') return
  const link = `${installation.consoleUrl}/projects/${project.id}/keys`
  const data = { key, project: project.name, by: actor.name, link, ...more } as MailData[Template]
  await mailOwners(tx, installation.secrets, { template, data })
}
