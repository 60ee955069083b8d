/** Passkeys, through the browser's own JSON: nothing of it is taken apart here. */
import type { BodyOf } from '../../src/console/contract.ts'
import { api, type Reply } from './api.ts'

type CreationOptions = Reply<'POST /api/me/passkeys/options'>
type RequestOptions = Reply<'POST /api/auth/passkey/options'>
type Created = BodyOf<'POST /api/me/passkeys'>['credential']
type Used = BodyOf<'POST /api/auth/passkey/sign-in'>['credential']

/** Not in older browsers, without https, nor where the console is reached by a bare address. */
export function canUsePasskeys(): boolean {
  const isNamed = !/^[\d.]+$|:/.test(window.location.hostname)
  return window.isSecureContext && isNamed && 'parseRequestOptionsFromJSON' in (window.PublicKeyCredential ?? {})
}

export async function createPasskey(options: CreationOptions): Promise<Created> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const credential = await navigator.credentials.create({ publicKey }).catch(explain)
  return jsonOf(credential) as Created
}

export async function signInWithPasskey(how: { isQuiet?: boolean; signal?: AbortSignal } = {}): Promise<void> {
  const options = await api('POST /api/auth/passkey/options', {})
  const credential = await getPasskey(options, how)
  await api('POST /api/auth/passkey/sign-in', { body: { credential } })
}

export async function proveWithPasskey(): Promise<void> {
  const credential = await getPasskey(await api('POST /api/me/proof/passkey/options', {}))
  await api('POST /api/me/proof/passkey', { body: { credential } })
}

/** Quietly: the browser offers passkeys among what it fills in, and waits without asking anything. */
async function getPasskey(
  options: RequestOptions,
  { isQuiet = false, signal }: { isQuiet?: boolean; signal?: AbortSignal } = {},
): Promise<Used> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const mediation = isQuiet ? 'conditional' : 'optional'
  const credential = await navigator.credentials.get({ publicKey, mediation, ...(signal && { signal }) }).catch(explain)
  return jsonOf(credential) as Used
}

function jsonOf(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential)) throw new Error(NOTHING_CHOSEN)
  return credential.toJSON()
}

const NOTHING_CHOSEN = 'No passkey was used. Try again when you are ready.'

/** Browsers say little, on purpose, and not in words for people. */
function explain(error: unknown): never {
  const { name } = error as { name?: string }
  if (name === 'AbortError') throw error
  if (name === 'InvalidStateError') throw new Error('This device has a passkey for your account already.')
  if (name === 'NotAllowedError') throw new Error(NOTHING_CHOSEN)
  throw new Error('This browser could not use a passkey here.')
}
