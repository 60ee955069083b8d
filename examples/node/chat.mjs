// node chat.mjs "Which tent is light enough for a long walk?"
import OpenAI from 'openai'

const { PARLEY_URL = 'http://127.0.0.1:8080', PARLEY_PUBLISHABLE_KEY, PARLEY_SECRET_KEY } = process.env
const client = new OpenAI({
  baseURL: `${PARLEY_URL}/v1`,
  apiKey: `${PARLEY_PUBLISHABLE_KEY}:${PARLEY_SECRET_KEY}`,
  defaultHeaders: { 'x-error-format': 'openai' }, // so that the SDK shows our error messages
})

const stream = await client.chat.completions.create({
  model: process.env.PARLEY_MODEL ?? 'parley-small',
  messages: [{ role: 'user', content: process.argv[2] ?? 'Say hello.' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
process.stdout.write('\n')
