import type { Config } from '../config.ts'

export interface ExampleCall {
  /** Where the gateway answers. */
  url: string
  publishableKey: string
  secretKey: string
  model: string
  stream?: boolean
  question?: string
}

/** A request to paste into a shell. */
export function curlFor({
  url,
  publishableKey,
  secretKey,
  model,
  stream = false,
  question = 'Say hello.',
}: ExampleCall): string {
  const body = { model, messages: [{ role: 'user', content: question }], ...(stream && { stream }) }
  return [
    `curl ${stream ? '-sSN' : '-sS'} ${url}/v1/chat/completions`,
    `-H 'content-type: application/json'`,
    `-H 'x-publishable-key: ${publishableKey}'`,
    `-H 'x-secret-key: ${secretKey}'`,
    `-d '${JSON.stringify(body)}'`,
  ].join(' \\\n  ')
}

/** The gateway as it is reached from this machine: an address to listen on everywhere is not one to call. */
export function gatewayUrlOf(config: Config): string {
  const isEverywhere = config.PARLEY_HOST === '0.0.0.0' || config.PARLEY_HOST === '::'
  return `http://${isEverywhere ? '127.0.0.1' : config.PARLEY_HOST}:${config.PARLEY_PORT}`
}
