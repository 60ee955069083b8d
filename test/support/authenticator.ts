import { createHash, createSign, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'

/** An authenticator in software (WebAuthn, ES256, no attestation), which also does what a real one would not. */
export interface Authenticator {
  credentialId: string
  /** The count of its next use. */
  counter: number
  create(options: CreationOptions, how?: Misuse): object
  use(options: { challenge: string; rpId: string }, how?: Misuse): object
}

interface CreationOptions {
  challenge: string
  rp: { id: string }
  user: { id: string }
}

export interface Misuse {
  origin?: string
  rpId?: string
  isVerified?: boolean
  challenge?: string
  /** Signs instead of its own. */
  key?: KeyObject
  userHandle?: string | null
  type?: string
}

const PRESENT = 0x01
const VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40

export function createAuthenticator(origin: string): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(16)
  const credentialId = id.toString('base64url')
  let userHandle: string | null = null

  function answerTo(type: string, challenge: string, how: Misuse): Buffer {
    const said = { type: how.type ?? type, challenge: how.challenge ?? challenge, origin: how.origin ?? origin }
    return Buffer.from(JSON.stringify({ ...said, crossOrigin: false }))
  }
  function dataFor(rpId: string, how: Misuse, counter: number, credential: Buffer = Buffer.alloc(0)): Buffer {
    const flags = PRESENT | (how.isVerified === false ? 0 : VERIFIED) | (credential.length > 0 ? HAS_CREDENTIAL : 0)
    const head = Buffer.alloc(5)
    head.writeUInt8(flags)
    head.writeUInt32BE(counter, 1)
    return Buffer.concat([sha256(Buffer.from(how.rpId ?? rpId)), head, credential])
  }
  const credential = (response: object) => {
    return { id: credentialId, rawId: credentialId, type: 'public-key', clientExtensionResults: {}, response }
  }

  return {
    credentialId,
    counter: 0,
    create({ challenge, rp, user }, how = {}) {
      userHandle = user.id
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const authData = dataFor(
        rp.id,
        how,
        this.counter,
        Buffer.concat([Buffer.alloc(16), length, id, coseKeyOf(publicKey)]),
      )
      const attestation = [text('fmt'), text('none'), text('attStmt'), map(0), text('authData'), bytes(authData)]
      return credential({
        clientDataJSON: answerTo('webauthn.create', challenge, how).toString('base64url'),
        attestationObject: Buffer.concat([map(3), ...attestation]).toString('base64url'),
        transports: ['internal'],
      })
    },
    use({ challenge, rpId }, how = {}) {
      const clientData = answerTo('webauthn.get', challenge, how)
      const authenticatorData = dataFor(rpId, how, this.counter)
      const signed = Buffer.concat([authenticatorData, sha256(clientData)])
      return credential({
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: createSign('sha256')
          .update(signed)
          .sign(how.key ?? privateKey)
          .toString('base64url'),
        userHandle: how.userHandle === undefined ? userHandle : how.userHandle,
      })
    },
  }
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

/** The part of CBOR that is needed: maps, texts and bytes of up to 65,535, and small numbers. */
function map(entries: number): Buffer {
  return Buffer.from([0xa0 | entries])
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 | value.length]), Buffer.from(value)])
}

function bytes(value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x59, value.length >> 8, value.length & 255]), value])
}

function coseKeyOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  // kty: EC2, alg: ES256, crv: P-256
  const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01])
  const coordinate = (label: number, value: string) =>
    Buffer.concat([Buffer.from([label, 0x58, 32]), Buffer.from(value, 'base64url')])
  return Buffer.concat([head, coordinate(0x21, x), coordinate(0x22, y)])
}
