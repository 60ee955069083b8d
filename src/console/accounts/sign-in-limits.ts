import { DAY_MS } from '../../rules/durations.ts'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { findAccount } from '../../store/accounts/credentials.ts'
import type { RequestFacts } from '../console-request.ts'
import { knownDevice } from './devices.ts'
import { forgive, throttle, uncount } from '../throttle.ts'
import type { World } from '../world.ts'

const NETWORK_PER_MINUTE = 10
const ACCOUNT_AND_NETWORK_PER_MINUTE = 5
const ACCOUNT_AND_NETWORK_PER_DAY = 20
/** From all networks together. This is what bounds somebody who has thousands of them. */
const ACCOUNT_PER_DAY = 100
const DEVICE_PER_MINUTE = 5
const DEVICE_PER_DAY = 100

const ADVICE = 'Sign in on a device you have used before, or reset your password.'

/** Counts an attempt, or refuses it. To be told when the password was right: then it was no guess. */
export async function countSignIn(world: World, request: RequestFacts, email: string): Promise<() => Promise<void>> {
  const { db } = world
  const device = knownDevice(world, request, await findAccount(db, { email }))
  if (device !== undefined) {
    const [minute, day] = [`device/${device}`, `device/${device}/day`]
    await throttle(db, [{ subject: minute, most: DEVICE_PER_MINUTE }])
    await throttle(db, [{ subject: day, most: DEVICE_PER_DAY }], DAY_MS)
    return () => forgive(db, [minute, day])
  }
  const network = networkOf(request.ip)
  const account = `sign-in/${email}`
  const [minute, day] = [`${account}/${network}`, `${account}/${network}/day`]
  // One after the other: what a narrow limit refuses must not use up a wider one, which others depend on.
  await throttle(db, [
    { subject: `sign-in/${network}`, most: NETWORK_PER_MINUTE },
    { subject: minute, most: ACCOUNT_AND_NETWORK_PER_MINUTE },
  ])
  await throttle(db, [{ subject: day, most: ACCOUNT_AND_NETWORK_PER_DAY, advice: ADVICE }], DAY_MS)
  await throttle(db, [{ subject: account, most: ACCOUNT_PER_DAY, advice: ADVICE }], DAY_MS)
  return async () => {
    await forgive(db, [minute, day])
    await uncount(db, account)
  }
}
