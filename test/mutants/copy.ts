import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { plant, type Mutant } from './mutant.ts'

/** A private copy of the working tree: bugs are planted there, never in the files that somebody is editing. */
export interface Copy {
  dir: string
  /** Runs the work with the bug in place, and takes it out again. */
  withBug<T>(mutant: Mutant, work: () => Promise<T>): Promise<T>
}

const ROOT = join(import.meta.dirname, '../..')
const LIST_BYTES_MAX = 4 * 1024 * 1024

export async function copyTree(dir: string): Promise<Copy> {
  for (const file of await filesOfTree()) {
    await mkdir(dirname(join(dir, file)), { recursive: true })
    await copyFile(join(ROOT, file), join(dir, file))
  }
  await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  return {
    dir,
    async withBug(mutant, work) {
      const path = join(dir, mutant.file)
      const original = await readFile(path, 'utf8')
      await writeFile(path, plant(mutant, original))
      try {
        return await work()
      } finally {
        await writeFile(path, original)
      }
    },
  }
}

/** Returns the existing files that git tracks or would track, so that work in progress is judged too. */
async function filesOfTree(): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: ROOT,
      maxBuffer: LIST_BYTES_MAX,
    },
  )
  return stdout.split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)))
}
