import type { FastifyInstance } from 'fastify'
import { uuidv7 } from '../../platform/uuid.ts'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { inTransaction } from '../../store/database.ts'
import { listInvitationsTo } from '../../store/accounts/invitations.ts'
import { listMemberships } from '../../store/accounts/members.ts'
import { countPasskeys } from '../../store/accounts/passkeys.ts'
import { listProjects } from '../../store/projects/projects.ts'
import { insertAccount } from '../../store/accounts/users.ts'
import { postConfirmation } from './address-proofs.ts'
import { auditedEverywhere } from '../audited.ts'
import type { Call } from '../console-request.ts'
import { postMail } from './mail.ts'
import { hashOfNew } from './new-passwords.ts'
import { summaryOf } from '../projects/projects.ts'
import { route } from '../route.ts'
import { isFirst, throttle } from '../throttle.ts'
import type { World } from '../world.ts'

const HOUR_MS = 3_600_000
const SIGN_UPS_PER_HOUR = 10

export function accountRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/auth/sign-up/email', (call) => signUp(world, call))
  route(app, world, 'GET /api/me', (call) => describeMe(world, call))
}

async function signUp(world: World, { body, request }: Call<'POST /api/auth/sign-up/email'>) {
  const { db, secrets, installation } = world
  const { name, email } = body
  await throttle(db, [{ subject: `sign-up/${networkOf(request.ip)}`, most: SIGN_UPS_PER_HOUR }], HOUR_MS)
  // Also for a known address, so that the time it takes tells nothing.
  const passwordHash = await hashOfNew(world, body.password, email, 'password')
  await inTransaction(db, async (tx) => {
    const user = { id: uuidv7(), name, email, passwordHash }
    const publisher = {
      publisherId: uuidv7(),
      publisherName: body.publisher ?? name,
      trialCredit: installation.trialCredit,
    }
    if (await insertAccount(tx, { userId: user.id, credentialId: uuidv7(), name, email, passwordHash, ...publisher })) {
      await auditedEverywhere(tx, user, request, 'publisher.signed_up')
      await postConfirmation(world, tx, { ...user, emailVerified: false })
    } else if (await isFirst(tx, `known/${email}`)) {
      const data = { link: `${installation.consoleUrl}/sign-in` }
      await postMail(tx, secrets, { recipient: email, template: 'known_address', data })
    }
  })
  return { done: true as const }
}

async function describeMe(world: World, { user }: Call<'GET /api/me'>) {
  const { db, installation } = world
  const memberships = await listMemberships(db, user.id)
  const publishers = await Promise.all(
    memberships.map(async ({ publisherId: id, publisherName: name, role, activatedAt }) => {
      return { id, name, role, activatedAt, projects: (await listProjects(db, id)).map(summaryOf) }
    }),
  )
  const invitations = user.emailVerified ? (await listInvitationsTo(db, user.email)).length : 0
  const passkeys = await countPasskeys(db, user.id)
  return { user: { ...user, passkeys }, publishers, invitations, installation }
}
