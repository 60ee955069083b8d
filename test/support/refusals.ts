/** One case for each status with which Parley refuses a call, as something that any client can send. */
import type { TestContext } from 'node:test'
import { ERRORS } from '../../src/rules/errors.ts'
import { deleteConversation, recordTurn } from '../../src/store/calls/conversations.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { addModel, addProject, chatBody, complete, until, type World } from './world.ts'

export interface Refusal {
  title: string
  status: number
  /** The sentence that the developer must get to read. */
  sentence: string
  /** Anything that it starts ends with the test. */
  arrange: (world: World, t: TestContext) => RefusedCall | Promise<RefusedCall>
}

/** The differences from a call that would be answered. */
export interface RefusedCall {
  headers: Record<string, string>
  model?: string
  content?: string
  temperature?: number
}

const TOO_MANY_BYTES = 8 * 1024 * 1024 + 1

export const REFUSALS: Refusal[] = [
  {
    title: 'a model without a name',
    status: 400,
    sentence: 'model must not be empty.',
    arrange: (world) => ({ headers: world.project.headers, model: '' }),
  },
  {
    title: 'a wrong secret key',
    status: 401,
    sentence: ERRORS.keys_invalid.message,
    arrange: async (world) => {
      const other = await addProject(world.store, world.secrets)
      return { headers: { ...world.project.headers, 'x-secret-key': other.secretKey } }
    },
  },
  {
    title: 'a domain that is not verified',
    status: 403,
    sentence: ERRORS.domain_not_verified.message,
    arrange: async (world) => addProject(world.store, world.secrets, { isVerified: false }),
  },
  {
    title: 'an empty wallet',
    status: 403,
    sentence: ERRORS.credit_insufficient.message,
    arrange: async (world) => addProject(world.store, world.secrets, { credits: '0' }),
  },
  {
    title: 'the id of a deleted conversation',
    status: 404,
    sentence: ERRORS.conversation_not_found.message,
    arrange: async ({ store, project }) => {
      const conversation = { projectId: project.id, id: `deleted-${uuidv7()}` }
      await recordTurn(store.db, { conversation, callId: uuidv7(), messages: [], retentionDays: 1 })
      await deleteConversation(store.db, conversation)
      return { headers: { ...project.headers, 'x-conversation-id': conversation.id } }
    },
  },
  {
    title: 'a body beyond the limit',
    status: 413,
    sentence: 'The request body is larger than 8388608 bytes.',
    arrange: (world) => ({ headers: world.project.headers, content: 'x'.repeat(TOO_MANY_BYTES) }),
  },
  {
    title: 'a value out of range',
    status: 422,
    sentence: 'temperature must be at most 2.',
    arrange: (world) => ({ headers: world.project.headers, temperature: 3 }),
  },
  {
    title: 'a model that is not available',
    status: 422,
    sentence: ERRORS.model_not_found.message,
    arrange: (world) => ({ headers: world.project.headers, model: 'no-such-model' }),
  },
  {
    title: 'more calls at a time than the project may make',
    status: 429,
    sentence: 'The project has reached its limit of concurrent calls. Retry shortly.',
    arrange: async (world, t) => {
      const project = await addProject(world.store, world.secrets)
      await world.store.db
        .updateTable('projects')
        .set({ concurrent_calls: 1 })
        .where('id', '=', project.id)
        .executeTakeFirstOrThrow()
      const hangUp = new AbortController()
      t.after(() => hangUp.abort())
      // Its headers come with its first chunk; it then goes on for longer than any test.
      const body = chatBody('tokens=1000 gap=1000', { stream: true })
      const running = await complete(world, body, { project, signal: hangUp.signal })
      if (!running.ok) throw new Error(`the call that takes the only place was refused with ${running.status}`)
      return project
    },
  },
]

export const IMPATIENT_MODEL = 'sim-impatient'

/** A model whose upstream may be silent for a tenth of a second only. */
export async function addImpatientModel(world: World): Promise<void> {
  await addModel(world.store, { id: IMPATIENT_MODEL, provider: 'simulator', deployment: { idleTimeoutMs: 100 } })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(IMPATIENT_MODEL)
  })
}

/** How an upstream can die in the middle of an answer, as scripts for the simulator. */
export const DEATHS: [title: string, model: string, directive: string][] = [
  ['resets the connection', 'sim-small', 'tokens=20 fault=U14-rst after=5'],
  ['ends without its end marker', 'sim-small', 'tokens=20 fault=U14-eof after=5'],
  ['falls silent', IMPATIENT_MODEL, 'tokens=20 fault=U6 after=5'],
]
