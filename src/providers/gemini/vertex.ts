import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { cannotHonour, requestBodyOf } from './gemini-request.ts'
import { createReader, kindOfRefusal } from './gemini.ts'
import { withExtra } from '../extra-body.ts'
import { UpstreamError, type Provider } from '../provider.ts'
import { readEvents } from '../read-events.ts'
import type { Transport } from '../transport.ts'

export interface VertexOptions {
  name: string
  /** Up to and including the version: `https://LOCATION-aiplatform.googleapis.com/v1`. */
  baseUrl: string
  settings: unknown
  transport: Transport
}

const pathSegment = z.string().regex(/^[\w.:-]+$/)

const vertexSettings = z.strictObject({
  /** Left out: the project of the service account. */
  project: pathSegment.optional(),
  /** Left out: the location that the host names, or else `global`. */
  location: pathSegment.optional(),
  headers: z.record(z.string(), z.string()).optional(),
  safetySettings: z.array(z.strictObject({ category: z.string(), threshold: z.string() })).optional(),
  readsAudio: z.boolean().default(false),
})

/** Google's models at Vertex AI: the bodies of the Gemini API at other addresses, and with other credentials. */
export function createVertex(options: VertexOptions): Provider {
  const settings = vertexSettings.parse(options.settings ?? {})
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const location = settings.location ?? locationIn(baseUrl) ?? 'global'
  const credentials = createCredentials()
  return {
    name: options.name,
    cannotHonour: (request, upstreamModel) => cannotHonour(request, upstreamModel, settings),
    async *stream({ request, upstreamModel, apiKey, timers, onSent, extraBody }, signal) {
      const { account, headers } = credentials.of(apiKey)
      const project = settings.project ?? account?.projectId
      // An API key is for express mode, where it also names the project.
      const parent = account ? `projects/${project}/locations/${location}/` : ''
      const { safetySettings } = settings
      const exchange = {
        url: `${baseUrl}/${parent}${modelPathOf(upstreamModel)}:streamGenerateContent?alt=sse`,
        headers: { ...settings.headers, ...headers },
        body: JSON.stringify(
          withExtra(requestBodyOf(request, { upstreamModel, hasCallIds: false, safetySettings }), extraBody),
        ),
        timers,
        onSent,
        kindOfRefusal,
      }
      yield* readEvents(options.transport, exchange, createReader(), signal)
    },
  }
}

function locationIn(baseUrl: string): string | undefined {
  return /\/\/([a-z0-9-]+)-aiplatform\.|\/\/aiplatform\.([a-z]+)\.rep\./.exec(baseUrl)?.slice(1).find(Boolean)
}

/** A name with a slash says itself what it is: `endpoints/1234` is a tuned model. */
function modelPathOf(upstreamModel: string): string {
  const path = upstreamModel.split('/').map(encodeURIComponent).join('/')
  return upstreamModel.includes('/') ? path : `publishers/google/models/${path}`
}

interface ServiceAccount {
  email: string
  keyId: string | undefined
  key: KeyObject
  projectId: string
}

interface Credential {
  /** Undefined for an API key. */
  account?: ServiceAccount
  headers: Record<string, string>
}

/** An operator has a handful of keys; replaced ones must not stay in memory for good. */
const ACCOUNTS_MAX = 100

function createCredentials(): { of(apiKey: string | undefined): Credential } {
  const accounts = new LRUCache<string, { account: ServiceAccount; token: string; expiresS: number }>({
    max: ACCOUNTS_MAX,
  })
  return {
    of(apiKey): Credential {
      if (apiKey === undefined) return { headers: {} }
      const nowS = Math.floor(Date.now() / 1000)
      let known = accounts.get(apiKey)
      if (!known || known.expiresS - nowS < TOKEN_SECONDS_LEFT_MIN) {
        const account = known?.account ?? serviceAccountIn(apiKey)
        // Google also takes the key in the address, where every proxy on the way would log it.
        if (!account) return { headers: { 'x-goog-api-key': apiKey } }
        known = { account, token: tokenOf(account, nowS), expiresS: nowS + TOKEN_SECONDS }
        accounts.set(apiKey, known)
      }
      return { account: known.account, headers: { authorization: `Bearer ${known.token}` } }
    },
  }
}

const accountFile = z.object({
  client_email: z.string().min(1),
  private_key: z.string(),
  private_key_id: z.string().optional(),
  project_id: pathSegment,
})

/** The JSON file of a service account in base64. Undefined for anything else, which is then an API key. */
function serviceAccountIn(apiKey: string): ServiceAccount | undefined {
  let file: unknown
  try {
    file = JSON.parse(Buffer.from(apiKey, 'base64').toString())
  } catch {
    return undefined
  }
  // From here on it is no API key, and what it is must not be sent as one.
  const result = accountFile.safeParse(file)
  if (!result.success) throw new UpstreamError('key_rejected')
  const { client_email: email, private_key: pem, private_key_id: keyId, project_id: projectId } = result.data
  const key = privateKeyIn(pem)
  if (key?.asymmetricKeyType !== 'rsa') throw new UpstreamError('key_rejected')
  return { email, keyId, key, projectId }
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

const TOKEN_SECONDS = 3600
/** Clocks differ, and a request may wait for its connection. */
const TOKEN_SECONDS_LEFT_MIN = 300

/**
 * Google takes a token that the account has signed itself (AIP-4111): there is none to fetch, and no other server that
 * must be up. The scope stands for an audience, which would differ by region.
 */
function tokenOf({ email, keyId, key }: ServiceAccount, nowS: number): string {
  const header = { alg: 'RS256', typ: 'JWT', kid: keyId }
  const claims = {
    iss: email,
    sub: email,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    iat: nowS,
    exp: nowS + TOKEN_SECONDS,
  }
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`
}
