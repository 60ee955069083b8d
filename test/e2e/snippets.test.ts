import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  firstRequest,
  KEY_PLACEHOLDERS,
  keysFor,
  SNIPPETS,
  snippetFor,
  snippetsFor,
  type SnippetRequest,
} from '../../src/rules/calls/snippets.ts'
import { ROOT, run, type Finished } from '../support/commands.ts'
import { createWorld, eventsOf, type World } from '../support/world.ts'

/** Every example that people copy is run here as they would run it: in a shell, as a program of its own. */

const PYTHON_OPENAI = '3.22.1'
/** The words that the simulator is told to say: every program has to print them, in order. */
const SAID = 'Hello from the quick start'

// Before any test is registered: tests that come after a wait would find the world closed behind those before it.
const pythonPath = await pythonWithOpenai()

let world: World
let folder: string
before(async () => {
  world = await createWorld()
  folder = await mkdtemp(join(tmpdir(), 'parley-snippets-'))
  // The packages of this repository, as `npm install` would have brought them.
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
  await world.close()
})

function asking(content: string, changes: Partial<SnippetRequest> = {}): SnippetRequest {
  const script = `[[sim text=${encodeURIComponent(SAID)}]]`
  return { model: 'sim-small', messages: [{ role: 'user', content: `${content} ${script}` }], stream: true, ...changes }
}

/** Sets the keys as the quick start says, then runs what is given, in one shell. */
function inShell(commands: string, env: Record<string, string> = {}): Promise<Finished> {
  return run('sh', ['-ec', `${keysFor(world.project)}\n${commands}`], { cwd: folder, env, withinMs: 60_000 })
}

async function streamedText(events: string): Promise<string> {
  const chunks = eventsOf(events)
  assert.equal(chunks.at(-1), '[DONE]')
  return chunks
    .slice(0, -1)
    .map((data) => JSON.parse(data).choices[0]?.delta.content ?? '')
    .join('')
}

/** Whether the caller asked for a stream, as the gateway has it in its log before the answer's last byte. */
async function isLastStreamed(): Promise<boolean> {
  const { db } = world.store
  const call = await db.selectFrom('calls').select('streamed').orderBy('id', 'desc').limit(1).executeTakeFirstOrThrow()
  return call.streamed
}

test('the curl example streams an answer', async () => {
  const { stdout, stderr } = await inShell(snippetFor('curl', world.url, asking('Say hello.')).text)
  assert.equal(await streamedText(stdout), SAID, stderr)
})

for (const id of ['node', 'ai-sdk', 'langchain'] as const) {
  test(`the ${id} example, saved and run with the published packages, streams an answer`, async () => {
    const { text, file, run: command } = snippetFor(id, world.url, asking('Say hello.'))
    await writeFile(join(folder, String(file)), text)
    const { stdout, stderr, code } = await inShell(String(command))
    assert.deepEqual([stdout, code], [SAID, 0], stderr)
    assert.equal(await isLastStreamed(), true)
  })

  test(`the ${id} example without streaming prints the whole answer`, async () => {
    const { text, file, run: command } = snippetFor(id, world.url, asking('Say hello.', { stream: false }))
    await writeFile(join(folder, String(file)), text)
    const { stdout, stderr } = await inShell(String(command))
    assert.equal(stdout.trim(), SAID, stderr)
    assert.equal(await isLastStreamed(), false)
  })
}

test('a program that knows nothing of Parley streams an answer when only the environment is set', async () => {
  const { text } = snippetFor('environment', world.url, asking('Say hello.'))
  const { stdout, stderr } = await inShell(text)
  assert.equal(stdout, SAID, stderr)
})

test(
  pythonPath === undefined
    ? 'the Python example compiles (not run: the openai package cannot be had on this machine)'
    : 'the Python example, saved and run with the published package, streams an answer',
  async () => {
    const { text, file, run: command } = snippetFor('python', world.url, asking('Say hello.'))
    await writeFile(join(folder, String(file)), text)
    const { code, stderr } = await inShell(`python3 -m py_compile ${file}`)
    assert.equal(code, 0, stderr)
    if (pythonPath === undefined) return
    const answer = await inShell(String(command), { PYTHONPATH: pythonPath })
    assert.equal(answer.stdout, SAID, answer.stderr)
    assert.equal(await isLastStreamed(), true)
  },
)

/** Where `import openai` works: empty when it does by itself; undefined when it cannot be made to. */
async function pythonWithOpenai(): Promise<string | undefined> {
  if ((await run('python3', ['-c', 'import openai'])).code === 0) return ''
  const target = join(tmpdir(), `parley-python-openai-${PYTHON_OPENAI}`)
  const tried = () => run('python3', ['-c', 'import openai'], { env: { PYTHONPATH: target }, withinMs: 60_000 })
  if (existsSync(target) && (await tried()).code === 0) return target
  // Without a way to the registry it is better to know at once: pip would try for minutes.
  const patience = ['--retries', '0', '--timeout', '10']
  const args = ['-m', 'pip', 'install', '-q', ...patience, '--target', target, `openai==${PYTHON_OPENAI}`]
  const { HOME = '' } = process.env
  await run('python3', args, { env: { HOME }, withinMs: 180_000 })
  return (await tried()).code === 0 ? target : undefined
}

const NASTY = `It's "quoted", $HOME, \`ls\`, \\n, \${x}, %s, {y}, <b>, 日本語 👩‍👩‍👧 and\na second line\t!`

for (const id of ['curl', 'node', 'python'] as const) {
  test(`whatever was written in the playground arrives unchanged from its ${id} code`, async () => {
    const request = asking(NASTY, { temperature: 0.5, maxTokens: 64, stream: false })
    const messages = [{ role: 'system' as const, content: NASTY }, ...request.messages]
    const { text, file, run: command } = snippetFor(id, world.url, { ...request, messages })
    if (file) await writeFile(join(folder, file), text)
    if (id === 'python' && pythonPath === undefined) {
      assert.equal((await inShell(`python3 -m py_compile ${file}`)).code, 0)
      return
    }
    const { stdout, stderr } = await inShell(command ?? text, { PYTHONPATH: pythonPath ?? '' })
    assert.ok(stdout.includes(SAID), stderr)
    const body = world.simulator.calls.at(-1)?.body as Record<string, unknown>
    assert.deepEqual([body.messages, body.temperature], [messages, 0.5])
    assert.equal(body.max_tokens ?? body.max_completion_tokens, 64)
  })
}

test('docs/quick-start.md shows every example as it is run here, and nothing else', async () => {
  const docs = await readFile(join(ROOT, 'docs/quick-start.md'), 'utf8')
  const shown = [...docs.matchAll(/^```\w+\n([^]*?)\n?```$/gm)].map(([, code]) => code)
  const snippets = snippetsFor('http://127.0.0.1:8080', firstRequest('parley-small'))
  assert.equal(snippets.length, SNIPPETS.length)
  const keys = keysFor(KEY_PLACEHOLDERS)
  const expected = snippets.flatMap(({ install, text, run: command }) => [install, text.trimEnd(), command])
  assert.deepEqual(shown, [keys, ...expected.filter((each) => each !== null)])
})
