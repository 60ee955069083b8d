// Serves the page and hands out short-lived secrets. The page then talks to Parley itself: no answer passes through here.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const { PARLEY_URL = 'http://127.0.0.1:8080', PARLEY_PUBLISHABLE_KEY, PARLEY_SECRET_KEY } = process.env
const model = process.env.PARLEY_MODEL ?? 'parley-small'
const page = await readFile(new URL('index.html', import.meta.url))

async function createSession() {
  const response = await fetch(`${PARLEY_URL}/v1/sessions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-publishable-key': PARLEY_PUBLISHABLE_KEY,
      'x-secret-key': PARLEY_SECRET_KEY,
    },
    // Your user's id, once you know who is asking: a session is for one of them, and this one spends at most a cent.
    body: JSON.stringify({ end_user: 'visitor-1', models: [model], max_tokens: 500, calls: 20, money: '10000000' }),
  })
  const { secret_key: secretKey, message } = await response.json()
  return { status: response.status, url: PARLEY_URL, publishableKey: PARLEY_PUBLISHABLE_KEY, secretKey, model, message }
}

const server = createServer(async (request, response) => {
  if (request.method !== 'POST' || request.url !== '/session') return response.end(page)
  const { status, ...session } = await createSession().catch(({ message }) => ({ status: 502, message }))
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(session))
})
server.listen(process.env.PORT ?? 3000, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
