import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

interface Task {
  module: string
  name: string
  args: unknown[]
}

/**
 * Runs an exported function in a thread of its own. The test runner follows every promise of its own thread, so that
 * work made of millions of them takes half as long elsewhere.
 */
export function inThread<F extends (...args: never[]) => unknown>(
  module: URL,
  name: string,
  ...args: Parameters<F>
): Promise<Awaited<ReturnType<F>>> {
  return new Promise((resolve, reject) => {
    const task: Task = { module: module.href, name, args }
    const thread = new Worker(new URL(import.meta.url), { workerData: task })
    thread.once('message', resolve).once('error', reject)
    thread.once('exit', (code) => reject(new Error(`the thread ended with ${code} and without an answer`)))
  })
}

if (!isMainThread) {
  const { module, name, args } = workerData as Task
  const work = ((await import(module)) as Record<string, (...args: unknown[]) => unknown>)[name]
  parentPort?.postMessage(await work?.(...args))
}
