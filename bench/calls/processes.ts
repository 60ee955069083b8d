/** Processes of the benchmark: started so that none is left behind, and what each has used so far. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ProcessOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
}

export interface KeptProcess {
  readonly pid: number
  stop(): Promise<void>
}

const COMPLAINT_CHARACTERS = 2_000
const STOP_WITHIN_MS = 10_000
const READY_WITHIN_MS = 60_000
const READY_POLL_MS = 100
/** In which /proc counts time, on every Linux. */
const TICKS_PER_SECOND = 100

/** Started, and ready when its address answers with success. What it logs is not looked at, and costs nobody else. */
export async function startServer(
  ending: AsyncDisposableStack,
  command: readonly string[],
  options: ProcessOptions & { readyUrl: string },
): Promise<KeptProcess> {
  const child = launch(ending, command, options, ['ignore', 'ignore', 'pipe'])
  const stop = () => end(child)
  const complaint = lastWordsOf(child)
  const deadline = performance.now() + READY_WITHIN_MS
  while (!(await answers(options.readyUrl))) {
    if (hasEnded(child) || performance.now() > deadline)
      throw new Error(`${command.join(' ')} did not start: ${complaint()}`)
    await sleep(READY_POLL_MS)
  }
  return { pid: child.pid ?? 0, stop }
}

/** Runs a program to its end and says what it printed; throws what it complained of. */
export async function runProgram(
  ending: AsyncDisposableStack,
  command: readonly string[],
  options: ProcessOptions = {},
): Promise<string> {
  const child = launch(ending, command, options, ['ignore', 'pipe', 'pipe'])
  const complaint = lastWordsOf(child)
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text))
  await once(child, 'close')
  if (child.exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${complaint()}`)
  return printed
}

/** npm has all of the environment: how packages are reached is said there. */
export function runNpm(ending: AsyncDisposableStack, args: readonly string[], cwd: string): Promise<string> {
  return runProgram(ending, ['npm', ...args, '--no-audit', '--no-fund'], { cwd, env: process.env })
}

/** Nothing of this process' environment leaks into it but where programs and home are. */
function launch(
  ending: AsyncDisposableStack,
  [command = '', ...args]: readonly string[],
  { env, cwd }: ProcessOptions,
  stdio: ('ignore' | 'pipe')[],
): ChildProcess {
  // Nobody would end what is started now.
  if (ending.disposed) throw new Error('the benchmark has been interrupted')
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
  const { HOME = '/' } = process.env
  const child = spawn(command, args, { cwd, env: { PATH: path, HOME, ...env }, stdio })
  ending.defer(() => end(child))
  return child
}

function lastWordsOf(child: ChildProcess): () => string {
  let words = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = `${words}${text}`.slice(-COMPLAINT_CHARACTERS)
  })
  child.once('error', (error) => (words += error.message))
  return () => words.trim()
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const killer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
  await exit
  clearTimeout(killer)
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** CPU time of a process so far, of all of its threads, in milliseconds. */
export function cpuMsOf(pid: number): number {
  return msOf(timesOf(pid).slice(0, 2))
}

/** CPU time of a process and all its children so far; of those that have ended, as well. */
export function cpuMsWithChildren(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return children.reduce((sum, child) => sum + cpuMsOfChild(Number(child)), msOf(timesOf(pid)))
}

/** A child that ends in this moment is counted by its parent from then on. */
function cpuMsOfChild(pid: number): number {
  try {
    return cpuMsOf(pid)
  } catch {
    return 0
  }
}

/** User and system time of the process, then those of its children that have ended. */
function timesOf(pid: number): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).map(Number)
}

function msOf(ticks: readonly number[]): number {
  return (ticks.reduce((sum, count) => sum + count, 0) * 1_000) / TICKS_PER_SECOND
}

/** Resident memory in KB. */
export function residentKbOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}
