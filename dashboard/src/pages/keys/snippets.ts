import type { NewKeyPair } from './key-pair.ts'

/** Snippets to copy while a pair is shown. */

export type ShownPair = Pick<NewKeyPair, 'publishableKey' | 'secretKey' | 'gatewayUrl' | 'model'>

/** Streams an answer: the first thing that everybody wants to see. */
export function curlOf({ gatewayUrl, publishableKey, secretKey, model }: ShownPair): string {
  const body = { model: model ?? 'MODEL', messages: [{ role: 'user', content: 'Say hello.' }], stream: true }
  return [
    `curl -sSN ${gatewayUrl}/v1/chat/completions`,
    `-H 'content-type: application/json'`,
    `-H 'x-publishable-key: ${publishableKey}'`,
    `-H 'x-secret-key: ${secretKey}'`,
    `-d '${JSON.stringify(body)}'`,
  ].join(' \\\n  ')
}

export function envOf({ gatewayUrl, publishableKey, secretKey }: ShownPair): string {
  return [
    `PARLEY_BASE_URL=${gatewayUrl}/v1`,
    `PARLEY_PUBLISHABLE_KEY=${publishableKey}`,
    `PARLEY_SECRET_KEY=${secretKey}`,
    '',
  ].join('\n')
}

/** Its beginning says what it is; the rest is for nobody's eyes but the owner's. */
export function masked(secretKey: string): string {
  const visible = 'ply_sk_'.length
  return secretKey.slice(0, visible) + '•'.repeat(Math.max(0, secretKey.length - visible))
}
