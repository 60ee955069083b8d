/** Runs programs the way an operator does, and nothing of this process' environment leaks into them. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname, join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunOptions {
  env?: Record<string, string>
  /** The text that is piped in; nothing when absent. */
  input?: string
  cwd?: string
  /** Runs as another user; only root may. */
  uid?: number
  withinMs?: number
}

export interface Started {
  child: ChildProcess
  /** Everything printed so far, on both outputs. */
  readonly output: string
  /** Waits until the output matches; fails with the output when it does not, or when the program ends. */
  untilPrinted(pattern: RegExp, withinMs: number): Promise<string>
  /** Sends a signal, if one is given, and waits for the exit code. Kills what does not end in time. */
  end(signal: NodeJS.Signals | undefined, withinMs: number): Promise<number | null>
}

export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = launch(command, args, options)
  const result: Finished = { code: null, stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (result.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (result.stderr += text))
  // A command that fails before it reads its input closes the pipe under our hands.
  child.stdin?.on('error', () => {}).end(options.input ?? '')
  const killer = setTimeout(() => child.kill('SIGKILL'), options.withinMs ?? 20_000)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(killer)
  return { ...result, code }
}

export function start(command: string, args: readonly string[], options: RunOptions = {}): Started {
  const child = launch(command, args, options)
  let output = ''
  let hasEnded = false
  const see = (text: string) => (output += text)
  child.stdout?.setEncoding('utf8').on('data', see)
  child.stderr?.setEncoding('utf8').on('data', see)
  child.stdin?.end()
  const closed = once(child, 'close').then(([code]) => {
    hasEnded = true
    return code as number | null
  })
  return {
    child,
    get output() {
      return output
    },
    async untilPrinted(pattern, withinMs) {
      const deadline = performance.now() + withinMs
      while (!pattern.test(output)) {
        if (hasEnded || performance.now() > deadline) {
          throw new Error(`${hasEnded ? 'ended' : `${withinMs} ms passed`} before ${pattern} was printed:\n${output}`)
        }
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return output
    },
    async end(signal, withinMs) {
      if (signal !== undefined) child.kill(signal)
      const killer = setTimeout(() => child.kill('SIGKILL'), withinMs)
      const code = await closed
      clearTimeout(killer)
      return code
    },
  }
}

/** `bin/parley` with these variables and no others. */
export function parley(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return run(join(ROOT, 'bin/parley'), args, options)
}

function launch(command: string, args: readonly string[], options: RunOptions): ChildProcess {
  // The Node that runs the tests also runs what they start.
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
  const { HOME = '/', NODE_COMPILE_CACHE } = process.env
  return spawn(command, args, {
    cwd: options.cwd ?? ROOT,
    env: { PATH: path, HOME, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }), ...options.env },
    stdio: 'pipe',
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  })
}
