import type { FastifyInstance } from 'fastify'
import { randomBytes } from 'node:crypto'
import { uuidv7 } from '../../platform/uuid.ts'
import { ParleyError } from '../../rules/errors.ts'
import { explainKeyStatus, keyStatusOf, secretHintOf } from '../../rules/projects/key-status.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom, secretDigestOf } from '../../rules/projects/keys.ts'
import type { MailData } from '../../rules/accounts/mails.ts'
import type { Db } from '../../store/database.ts'
import { findDomain } from '../../store/projects/domains.ts'
import {
  countKeyPairs,
  deleteKeyPair,
  endKeyPair,
  listManagedKeyPairs,
  lockKeyPair,
  rollKeyPair,
  switchKeyPair,
  type KeyPairRow,
} from '../../store/projects/key-pairs.ts'
import { insertKeyPair, type NewKeyPair } from '../../store/projects/keys.ts'
import { mailOwners } from '../../store/accounts/owner-mails.ts'
import { findProject } from '../../store/projects/projects.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import { audited } from '../audited.ts'
import type { Call, ProjectOfCall, PublisherOfCall, User } from '../console-request.ts'
import { notThere, route } from '../route.ts'
import type { World } from '../world.ts'

const PAIRS_MAX = 100
const DAY_MS = 24 * 3_600_000
const SPENT_DAYS = 30

export function keyRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/keys', async ({ db, project }) => {
    const nowMs = Date.now()
    // Whole days, today's included.
    const since = new Date(Math.floor(nowMs / DAY_MS) * DAY_MS - (SPENT_DAYS - 1) * DAY_MS)
    const rows = await listManagedKeyPairs(db, project.id, since)
    return { items: rows.map((row) => viewOf(row, nowMs)) }
  })
  route(app, world, 'POST /api/projects/:project/keys', (call) => create(world, call))
  route(app, world, 'POST /api/projects/:project/keys/:key/roll', (call) => roll(world, call))

  route(app, world, 'POST /api/projects/:project/keys/:key/end', async (call) => {
    const pair = await pairOf(call.db, call.project.id, call.params.key)
    if (pair.replaced_by === null)
      throw new ParleyError('conflict', {
        message: 'Only a pair that was replaced can be ended. Deactivate this one instead.',
      })
    await endKeyPair(call.db, call.project.id, pair.id)
    await audited(call, 'key.ended', { subject: pair.name, details: factsOf(pair) })
    return { done: true }
  })

  route(app, world, 'PATCH /api/projects/:project/keys/:key', async (call) => {
    const pair = await pairOf(call.db, call.project.id, call.params.key)
    if (pair.active !== call.body.active) {
      await switchKeyPair(call.db, call.project.id, pair.id, call.body.active)
      const action = call.body.active ? 'key.activated' : 'key.deactivated'
      await audited(call, action, { subject: pair.name, details: factsOf(pair) })
    }
    return { done: true }
  })

  route(app, world, 'DELETE /api/projects/:project/keys/:key', async (call) => {
    const pair = await pairOf(call.db, call.project.id, call.params.key)
    await deleteKeyPair(call.db, call.project.id, pair.id)
    await audited(call, 'key.deleted', { subject: pair.name, details: factsOf(pair) })
    const data = mailAbout(world, call, pair.name)
    await mailOwners(call.db, world.secrets, { template: 'key_deleted', data })
    return { done: true }
  })
}

async function create(world: World, call: Call<'POST /api/projects/:project/keys'>) {
  const { db, project, publisher, user, body } = call
  // Calls with the pair would be refused anyway; whoever makes it should know before they build on it.
  if (publisher.activatedAt === null) throw new ParleyError('account_not_activated')
  if (!(await findDomain(db, project.id))?.verifiedAt) throw new ParleyError('domain_not_verified')
  await expectRoom(db, project.id)
  const expiresAt = body.expiresInDays === null ? null : new Date(Date.now() + body.expiresInDays * DAY_MS)
  const { secretKey, ...pair } = makePair(world, {
    projectId: project.id,
    name: body.name,
    expiresAt,
    createdBy: user.id,
  })
  await insertKeyPair(db, pair)
  await audited(call, 'key.created', { subject: body.name, details: { key: pair.publishableKey, expiresAt } })
  await mailOwners(db, world.secrets, { template: 'key_created', data: mailAbout(world, call, body.name) })
  return shownOnce(world, db, { ...pair, secretKey }, null)
}

async function roll(world: World, call: Call<'POST /api/projects/:project/keys/:key/roll'>) {
  const { db, project, user, params, body } = call
  const old = await pairOf(db, project.id, params.key)
  const status = keyStatusOf(old, Date.now())
  if (old.replaced_by !== null)
    throw new ParleyError('conflict', { message: 'This pair was replaced already. Roll the pair that took its place.' })
  if (status !== 'active')
    throw new ParleyError('conflict', {
      message: `This pair is ${status}, so there is nothing to hand over. Make a new pair.`,
    })
  await expectRoom(db, project.id)
  // As long as the old one was meant to last.
  const expiresAt = old.expires_at && new Date(Date.now() + old.expires_at.getTime() - old.created_at.getTime())
  const { secretKey, ...pair } = makePair(world, {
    projectId: project.id,
    name: old.name,
    expiresAt,
    createdBy: user.id,
  })
  const oldEndsAt = await rollKeyPair(db, old.id, pair, body.overlapSeconds)
  const details = { old: old.publishable_key, key: pair.publishableKey, oldEndsAt }
  await audited(call, 'key.rolled', { subject: old.name, details })
  const oldEnds = body.overlapSeconds === 0 ? 'is refused from now on' : `works until ${oldEndsAt.toUTCString()}`
  await mailOwners(db, world.secrets, {
    template: 'key_rolled',
    data: { ...mailAbout(world, call, old.name), oldEnds },
  })
  return shownOnce(world, db, { ...pair, secretKey }, oldEndsAt)
}

/** The secret leaves the process in this one answer; only its digest is stored. */
function makePair(
  world: World,
  wanted: Pick<NewKeyPair, 'projectId' | 'name' | 'expiresAt' | 'createdBy'>,
): NewKeyPair & { secretKey: string } {
  const { publishable, secret } = keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), world.installation.cell)
  return {
    ...wanted,
    id: uuidv7(),
    publishableKey: publishable,
    secretKey: secret,
    secretDigest: secretDigestOf(secret, world.secrets.keyFor('key-pair-pepper')),
    secretVersion: world.secrets.version,
    secretLast4: secret.slice(-4),
  }
}

async function shownOnce(world: World, db: Db, pair: NewKeyPair & { secretKey: string }, oldEndsAt: Date | null) {
  const { id, name, publishableKey, secretKey, projectId } = pair
  const model = await exampleModel(db, (await findProject(db, projectId))?.allowed_models ?? null)
  return { id, name, publishableKey, secretKey, gatewayUrl: world.installation.gatewayUrl, model, oldEndsAt }
}

async function exampleModel(db: Db, allowed: readonly string[] | null): Promise<string | null> {
  const served = await listServedModels(db)
  return served.find(({ id }) => allowed === null || allowed.includes(id))?.id ?? null
}

async function expectRoom(db: Db, projectId: string): Promise<void> {
  if ((await countKeyPairs(db, projectId)) < PAIRS_MAX) return
  throw new ParleyError('conflict', { message: `A project has at most ${PAIRS_MAX} key pairs. Delete some first.` })
}

async function pairOf(db: Db, projectId: string, id: string): Promise<KeyPairRow> {
  const pair = await lockKeyPair(db, projectId, id)
  if (!pair) throw notThere('key')
  return pair
}

function factsOf(pair: KeyPairRow) {
  return { key: pair.publishable_key, last4: pair.secret_last4 }
}

function mailAbout(
  world: World,
  { project, user }: { project: ProjectOfCall; publisher: PublisherOfCall; user: User },
  key: string,
): MailData['key_created'] {
  const link = `${world.installation.consoleUrl}/projects/${project.id}/keys`
  return { key, project: project.name, by: user.name, link }
}

function viewOf(row: Awaited<ReturnType<typeof listManagedKeyPairs>>[number], nowMs: number) {
  return {
    id: row.id,
    name: row.name,
    publishableKey: row.publishable_key,
    secretHint: secretHintOf(row.publishable_key, row.secret_last4),
    status: keyStatusOf(row, nowMs),
    explanation: explainKeyStatus(row, nowMs),
    createdAt: row.created_at,
    createdBy: row.created_by,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    replacedBy: row.replaced_by,
    spent30dNanos: row.spent_nanos ?? 0n,
  }
}
