import assert from 'node:assert/strict'
import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createBlackHole, refusedPort } from '../../simulator/unreachable.ts'
import { createAuthority } from '../support/certificates.ts'
import { createDnsServer, type DnsAnswer, type DnsQuestion } from '../support/dns-server.ts'
import { UPSTREAM_TIMERS } from '../../src/rules/limits.ts'
import { collect, dataReader, isUpstreamError } from '../../src/providers/support.test.ts'
import { createTransport, type TransportOptions } from '../../src/providers/transport.ts'

type Answering = (question: DnsQuestion) => DnsAnswer

/** A transport that finds names by asking a real name server. */
async function open(t: TestContext, answer: Answering, options: TransportOptions = {}) {
  const names = await createDnsServer(answer)
  const dns = { servers: [names.address], systemLookup: () => Promise.reject(new Error('ENOTFOUND')) }
  const transport = createTransport({ dns, ...options })
  t.after(async () => {
    await transport.close()
    await names.close()
  })
  return async (url: string, connectMs = 30_000): Promise<string[]> => {
    const timers = { ...UPSTREAM_TIMERS, connectMs }
    const request = { url, headers: {}, body: '{}', timers, contentType: 'text/event-stream' }
    return collect(transport.exchange(request, dataReader(), new AbortController().signal))
  }
}

/** Says the one word it was given. */
async function listen(t: TestContext, host: string, word: string, server: Server = createHttpServer()) {
  server.on('request', (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${word}\n\ndata: [DONE]\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  t.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

test('a name is found by the name server, over IPv4 or IPv6', async (t) => {
  const ask = await open(t, ({ type, name }) => {
    const family = name.startsWith('six') ? 'AAAA' : 'A'
    return { records: type === family ? [type === 'A' ? '127.0.0.1' : '::1'] : [] }
  })
  assert.deepEqual(await ask(`http://four.example:${await listen(t, '127.0.0.1', 'four')}/`), ['four', '[DONE]'])
  assert.deepEqual(await ask(`http://six.example:${await listen(t, '::1', 'six')}/`), ['six', '[DONE]'])
  assert.deepEqual(await ask(`http://[::1]:${await listen(t, '::1', 'literal')}/`), ['literal', '[DONE]'])
})

test('an address that refuses is followed by the next one', async (t) => {
  const port = await listen(t, '::1', 'six')
  const ask = await open(t, ({ type }) => ({ records: type === 'A' ? ['127.0.0.1'] : ['::1'] }))
  assert.deepEqual(await ask(`http://both.example:${port}/`), ['six', '[DONE]'])
})

test('an address that never answers is followed by the next one within the connect timer', async (t) => {
  const hole = await createBlackHole()
  t.after(() => hole.close())
  const server = createHttpServer()
  server.on('request', (_, response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: six\n\n'),
  )
  await new Promise<void>((resolve) => server.listen(hole.port, '::1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const ask = await open(t, ({ type }) => ({ records: type === 'A' ? ['127.0.0.1'] : ['::1'] }))
  assert.deepEqual(await ask(`http://both.example:${hole.port}/`, 3_000), ['six'])
})

test('a failure to find a name is told apart from a failure to connect', async (t) => {
  const ask = await open(t, ({ name, type }) => {
    if (name.startsWith('silent')) return { isDropped: true }
    return name.startsWith('here') ? { records: type === 'A' ? ['127.0.0.1'] : [] } : undefined
  })
  const port = await refusedPort()
  await assert.rejects(ask(`http://gone.example:${port}/`), isUpstreamError('dns'))
  await assert.rejects(ask(`http://here.example:${port}/`), isUpstreamError('refused'))
  // The connect timer includes the search, and says what it ended.
  await assert.rejects(ask(`http://silent.example:${port}/`, 100), isUpstreamError('dns'))
  const hole = await createBlackHole()
  t.after(() => hole.close())
  await assert.rejects(ask(`http://here.example:${hole.port}/`, 100), isUpstreamError('connect_timeout'))
  await assert.rejects(ask(`http://127.0.0.1:${hole.port}/`, 100), isUpstreamError('connect_timeout'))
})

test('only a certificate that is valid for the name, from an authority that is trusted, is spoken to', async (t) => {
  const authority = createAuthority()
  const ask = await open(t, ({ type }) => ({ records: type === 'A' ? ['127.0.0.1'] : [] }), { ca: authority.cert })
  const at = async (certificate: { key: string; cert: string }) =>
    `https://api.example:${await listen(t, '127.0.0.1', 'secure', createHttpsServer(certificate))}/`
  assert.deepEqual(await ask(await at(authority.issue('api.example'))), ['secure', '[DONE]'])
  for (const certificate of [
    authority.issue('api.example', { isExpired: true }),
    authority.issue('other.example'),
    authority.selfSigned('api.example'),
    createAuthority().issue('api.example'),
  ]) {
    await assert.rejects(ask(await at(certificate)), isUpstreamError('tls'))
  }
  await assert.rejects(ask(`https://api.example:${await listen(t, '127.0.0.1', 'plain')}/`), isUpstreamError('tls'))
})

test('HTTP/1.1 is spoken also to servers that would rather speak HTTP/2', async (t) => {
  const authority = createAuthority()
  const ask = await open(t, ({ type }) => ({ records: type === 'A' ? ['127.0.0.1'] : [] }), { ca: authority.cert })
  const offered: string[][] = []
  const server = createHttpsServer({
    ...authority.issue('api.example'),
    ALPNCallback({ protocols }) {
      offered.push(protocols)
      return protocols.includes('h2') ? 'h2' : protocols[0]
    },
  })
  const port = await listen(t, '127.0.0.1', 'one', server)
  assert.deepEqual(await ask(`https://api.example:${port}/`), ['one', '[DONE]'])
  assert.deepEqual(offered, [['http/1.1']])
})
