/** The least that a gateway in Node can do: `node bench/calls/bare-server.ts PORT UPSTREAM_URL`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent } from 'undici'

const [port, origin = ''] = process.argv.slice(2)
const agent = new Agent()

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
  const { authorization = '', 'content-type': type = '' } = request.headers
  const headers = { authorization, 'content-type': type }
  const { url: path = '', method = '' } = request
  const answer = await agent.request({ origin, path, method, headers, body: Buffer.concat(parts) })
  response.once('close', () => answer.body.destroy())
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  for await (const chunk of answer.body) response.write(chunk)
  response.end()
}

createServer((request, response) => {
  pass(request, response).catch(() => response.destroy())
}).listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 })
