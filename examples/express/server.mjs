// A route of your own server: POST /chat {"message": "…"} streams the answer as text. The keys never leave the server.
import express from 'express'
import OpenAI from 'openai'

const { PARLEY_URL = 'http://127.0.0.1:8080', PARLEY_PUBLISHABLE_KEY, PARLEY_SECRET_KEY } = process.env
const client = new OpenAI({
  baseURL: `${PARLEY_URL}/v1`,
  apiKey: `${PARLEY_PUBLISHABLE_KEY}:${PARLEY_SECRET_KEY}`,
  defaultHeaders: { 'x-error-format': 'openai' },
})

const app = express()
app.use(express.json())

app.post('/chat', async (request, response) => {
  const hungUp = new AbortController()
  response.on('close', () => hungUp.abort()) // A reader that leaves ends the call, and its cost.
  const stream = await client.chat.completions.create(
    {
      model: process.env.PARLEY_MODEL ?? 'parley-small',
      messages: [{ role: 'user', content: request.body.message }],
      stream: true,
    },
    { signal: hungUp.signal },
  )
  response.type('text/plain; charset=utf-8')
  for await (const chunk of stream) response.write(chunk.choices[0]?.delta.content ?? '')
  response.end()
})

app.use((error, _request, response, next) => {
  if (response.headersSent) return next(error)
  response.status(error.status ?? 500).json({ message: error.message })
})

const server = app.listen(process.env.PORT ?? 3000, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
