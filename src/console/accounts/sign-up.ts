import type { FastifyInstance } from 'fastify'
import { signUp } from '../../actions/accounts/people.ts'
import { postMail } from '../../actions/mails.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { inTransaction } from '../../store/database.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { isFirst, throttle } from '../throttle.ts'
import type { World } from '../world.ts'
import { postConfirmation } from './address-proofs.ts'
import { hashOfNew } from './new-passwords.ts'

const SIGN_UPS_PER_HOUR = 10

export function signUpRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/auth/sign-up/email', (call) => answer(world, call))
}

async function answer(world: World, { body, request }: ConsoleRequest<'POST /api/auth/sign-up/email'>) {
  const { db, secrets, installation } = world
  const { name, email } = body
  await throttle(db, [{ subject: `sign-up/${networkOf(request.ip)}`, most: SIGN_UPS_PER_HOUR }], HOUR_MS)
  // Also for a known address, so that the time it takes tells nothing.
  const passwordHash = await hashOfNew(world, body.password, email, 'password')
  const publisher = { publisherName: body.publisher ?? name, trialCredit: installation.trialCredit }
  const { ip, userAgent } = request
  await inTransaction(db, async (tx) => {
    const account = await signUp(tx, { name, email, passwordHash, ...publisher, from: { ip, userAgent } })
    if (account) {
      await postConfirmation(world, tx, account)
    } else if (await isFirst(tx, `known/${email}`)) {
      const data = { link: `${installation.consoleUrl}/sign-in` }
      await postMail(tx, secrets, { recipient: email, template: 'known_address', data })
    }
  })
  return { done: true as const }
}
