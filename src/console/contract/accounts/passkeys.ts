import { z } from 'zod'
import { done, entries, id, name, time } from '../fields.ts'

/** Passkeys, in the JSON that browsers take and give (WebAuthn level 3). */

const base64url = z
  .string()
  .regex(/^[\w-]*$/)
  .max(20_000)
const credentialId = base64url.min(1).max(1_400)
const transports = z.array(z.string().max(30)).max(10)
const descriptor = z.object({
  id: z.string(),
  type: z.literal('public-key'),
  transports: z.array(z.string()).optional(),
})

/** For a browser that is to use a passkey. */
const requestOptions = z.object({
  challenge: z.string(),
  rpId: z.string(),
  timeout: z.number(),
  userVerification: z.literal('required'),
  /** Empty: the person picks an account. */
  allowCredentials: z.array(descriptor),
})

const creationOptions = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.number() })),
  timeout: z.number(),
  excludeCredentials: z.array(descriptor),
  authenticatorSelection: z.object({ residentKey: z.literal('required'), userVerification: z.literal('required') }),
  attestation: z.literal('none'),
})

const credential = z.object({
  id: credentialId,
  rawId: credentialId,
  type: z.literal('public-key'),
  clientExtensionResults: z.object({}),
})

/** The browser's answers: a passkey was made, or used. */
const created = credential.extend({
  response: z.object({ clientDataJSON: base64url, attestationObject: base64url, transports: transports.optional() }),
})
const used = credential.extend({
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish(),
  }),
})

export const passkeys = entries({
  'POST /api/auth/passkey/options': { access: 'anyone', reply: requestOptions },
  // Needs neither an address nor a code: the device has checked who is using it.
  'POST /api/auth/passkey/sign-in': { access: 'anyone', body: z.object({ credential: used }), reply: done },

  'GET /api/me/passkeys': {
    access: 'user',
    reply: z.object({
      items: z.array(z.object({ id, name: z.string(), createdAt: time, lastUsedAt: time.nullable() })),
    }),
  },
  'POST /api/me/passkeys/options': { access: 'user', freshProof: true, confirmed: true, reply: creationOptions },
  'POST /api/me/passkeys': {
    access: 'user',
    freshProof: true,
    confirmed: true,
    body: z.object({ name, credential: created }),
    reply: done,
  },
  'PATCH /api/me/passkeys/:passkey': { access: 'user', body: z.object({ name }), reply: done },
  'DELETE /api/me/passkeys/:passkey': { access: 'user', freshProof: true, reply: done },

  // Makes this session's proof of identity fresh, like the password does.
  'POST /api/me/proof/passkey/options': { access: 'user', reply: requestOptions },
  'POST /api/me/proof/passkey': { access: 'user', body: z.object({ credential: used }), reply: done },
})
