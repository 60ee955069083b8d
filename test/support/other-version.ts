/** Another version of Parley: a copy of this one, in a folder of its own, with other functions or migrations. */
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './commands.ts'

export interface OtherVersion {
  /** Its command line. */
  command: string
  /** Its code for migrating. */
  store: typeof import('../../src/store/migrate.ts')
  remove(): Promise<void>
}

const PARTS = ['bin', 'src', 'migrations', 'functions', 'package.json']

/** By path: what it says there. */
export async function makeOtherVersion(files: Record<string, string>): Promise<OtherVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-version-'))
  for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text)
  return {
    command: join(folder, 'bin/parley'),
    store: (await import(
      pathToFileURL(join(folder, 'src/store/migrate.ts')).href
    )) as typeof import('../../src/store/migrate.ts'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** A file of this version with one place changed. */
export function changed(path: string, from: string, to: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8')
  if (text.split(from).length !== 2) throw new Error(`"${from}" does not occur once in ${path}`)
  return text.replace(from, () => to)
}
