import { z } from 'zod'
import { isSigned, sign, valueIn } from '../../platform/signed.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { findAccount, type Account } from '../../store/accounts/credentials.ts'
import { cookiePrefixOf } from './auth.ts'
import type { RequestFacts } from '../console-request.ts'
import type { World } from '../world.ts'

/**
 * Browsers that an account was signed in on. Strangers who guess its password cannot use up what these may try, so they
 * cannot keep the owner out. A cookie says so: signed for one account and its present password, kept in no table.
 */

/** Browsers keep no cookie for longer. */
const KEPT_FOR_S = 400 * 24 * 3_600

const deviceValue = z.object({ id: z.uuid(), sinceMs: z.number() })

/** The id of this browser, if the account was signed in on it since its password is what it is. */
export function knownDevice(world: World, request: RequestFacts, account: Account | undefined): string | undefined {
  const cookie = cookieOf(request, cookieName(world))
  const { data: device } = deviceValue.safeParse(valueIn(cookie))
  if (!account || !device || !isSigned(world.secrets, 'devices', cookie, bindingOf(account))) return undefined
  return Date.now() - device.sinceMs < KEPT_FOR_S * 1_000 ? device.id : undefined
}

/** For a browser that has just shown that it is its owner's: by signing in, or by a link to the address. */
export async function rememberDevice(
  world: World,
  userId: string,
  setCookies: (headers: Headers) => void,
): Promise<void> {
  const account = await findAccount(world.db, { id: userId })
  if (!account) return
  const value = sign(world.secrets, 'devices', { id: uuidv7(), sinceMs: Date.now() }, bindingOf(account))
  const secure = world.installation.consoleUrl.startsWith('https://') ? '; Secure' : ''
  const cookie = `${cookieName(world)}=${value}; Max-Age=${KEPT_FOR_S}; Path=/; HttpOnly; SameSite=Lax${secure}`
  setCookies(new Headers({ 'set-cookie': cookie }))
}

function bindingOf({ id, passwordHash }: Account): string[] {
  return [id, passwordHash]
}

function cookieName({ installation }: World): string {
  return `${cookiePrefixOf(installation.consoleUrl)}.device`
}

function cookieOf({ headers }: RequestFacts, name: string): string {
  const cookies = (headers.get('cookie') ?? '').split(/;\s*/)
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
}
