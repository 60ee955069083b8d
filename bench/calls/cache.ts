/** Programs of others that the benchmark runs: installed once into a cache folder of this user, and never part of Parley. */
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

export const CACHE_DIR = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'parley-bench')

/** The folder of that name; made first where it is missing. What was made halfway is never taken for whole. */
export async function cached(
  name: string,
  ending: AsyncDisposableStack,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(CACHE_DIR, name)
  if (await stat(folder).catch(() => undefined)) return folder
  const draft = `${folder}.draft-${process.pid}`
  ending.defer(() => rm(draft, { recursive: true, force: true }))
  await mkdir(draft, { recursive: true })
  await make(draft)
  await rename(draft, folder)
  return folder
}
