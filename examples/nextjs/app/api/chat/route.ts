import { createOpenAI } from '@ai-sdk/openai'
import { convertToModelMessages, streamText, type UIMessage } from 'ai'

const { PARLEY_URL = 'http://127.0.0.1:8080', PARLEY_PUBLISHABLE_KEY, PARLEY_SECRET_KEY } = process.env
const parley = createOpenAI({
  baseURL: `${PARLEY_URL}/v1`,
  apiKey: `${PARLEY_PUBLISHABLE_KEY}:${PARLEY_SECRET_KEY}`,
  headers: { 'x-error-format': 'openai' },
})

export async function POST(request: Request): Promise<Response> {
  const { messages, id } = (await request.json()) as { messages: UIMessage[]; id: string }
  const answer = streamText({
    model: parley(process.env.PARLEY_MODEL ?? 'parley-small'),
    messages: await convertToModelMessages(messages),
    headers: { 'x-conversation-id': id }, // One conversation in the console, and its prompt is cached.
    abortSignal: request.signal,
  })
  return answer.toUIMessageStreamResponse()
}
