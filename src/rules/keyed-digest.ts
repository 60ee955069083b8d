import { createHmac, createSecretKey, type Hmac, type KeyObject } from 'node:crypto'

const keyObjects = new WeakMap<Uint8Array, KeyObject>()

/** An HMAC with SHA-256. Each key is made an object once: Node takes six times as long for one that is bytes. */
export function keyedDigest(key: Uint8Array): Hmac {
  let object = keyObjects.get(key)
  if (!object) {
    object = createSecretKey(key)
    keyObjects.set(key, object)
  }
  return createHmac('sha256', object)
}
