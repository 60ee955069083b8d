/** The operator's commands in this process, where they take milliseconds: only a started bin/parley proves that one. */
import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { run } from '../../src/cli/program.ts'
import type { Finished } from './commands.ts'

/** With these variables and in this folder, or with those of this process. */
export async function here(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Finished> {
  const printed = { stdout: '', stderr: '' }
  const before = { ...process.env }
  const folder = process.cwd()
  if (options.cwd !== undefined) process.chdir(options.cwd)
  Object.assign(process.env, options.env)
  const log = mock.method(console, 'log', (text: string) => (printed.stdout += `${text}\n`))
  const error = mock.method(console, 'error', (text: string) => (printed.stderr += `${text}\n`))
  const notHere = () => Promise.reject(new Error())
  try {
    const code = await run(['node', 'parley', ...args], {
      roles: [],
      usualRoles: [],
      serve: notHere,
    })
    return { code, ...printed }
  } finally {
    for (const name of Object.keys(options.env ?? {})) delete process.env[name]
    Object.assign(process.env, before)
    process.chdir(folder)
    // The command's exit code is not that of the tests.
    process.exitCode = undefined
    log.mock.restore()
    error.mock.restore()
  }
}

/** Returns the output of a command for people. */
export async function told(...args: string[]): Promise<string> {
  return expectOk(args, await here(args)).stdout
}

/** Returns the output of a command for programs: exactly one document. */
export async function asked(...args: string[]): Promise<unknown> {
  return JSON.parse(await told(...args, '--json'))
}

/** Why a command did nothing. */
export async function refused(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await here(args)
  assert.deepEqual([code, stdout], [1, ''], stderr)
  return stderr
}

export function expectOk(args: readonly string[], finished: Finished): Finished {
  assert.equal(finished.code, 0, `parley ${args.join(' ')}\n${finished.stdout}${finished.stderr}`)
  assert.equal(finished.stderr, '')
  return finished
}
