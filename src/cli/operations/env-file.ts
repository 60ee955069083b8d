import { lstat, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { CliError } from '../failures.ts'

/** Variables that are written beside a file already, and take its place when all else has worked. */
export interface EnvDraft {
  /** Where they are until then. */
  path: string
  /** Renames it into place, so that nobody reads half of it. */
  keep(): Promise<void>
  discard(): Promise<void>
}

/** Other lines of the file stay; those that would set the same variables in another way go. */
export async function draftEnvFile(name: string, variables: Record<string, string>): Promise<EnvDraft> {
  const target = await targetOf(name)
  const before = await readFile(target, 'utf8').catch((error: { code?: string }) => {
    if (error.code === 'ENOENT') return ''
    throw new CliError(`${name} cannot be read: no password was changed.`)
  })
  const lines = before.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const kept = lines.filter((line) => !Object.hasOwn(variables, variableOf(line)))
  const path = `${target}.${process.pid}.new`
  const discard = () => rm(path, { force: true }).catch(() => {})
  try {
    const text = [...kept, ...linesOf(variables), ''].join('\n')
    await writeFile(path, text, { mode: 0o600, flag: 'wx', flush: true })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') await discard()
    throw new CliError(`${name} cannot be written: no password was changed.`)
  }
  return { path, keep: () => rename(path, target), discard }
}

export function linesOf(variables: Record<string, string>): string[] {
  return Object.entries(variables).map(([name, url]) => `${name}=${quoted(url)}`)
}

/** A shell reads the file, too: what means something to it is quoted. */
function quoted(value: string): string {
  return /^[\w:/@.,%?=+~-]*$/.test(value) ? value : `'${value.replaceAll("'", '%27')}'`
}

/** The variable that a line sets, itself or by NAME_FILE, which would win over it. */
function variableOf(line: string): string {
  return /^\s*(?:export\s+)?(\w+?)(?:_FILE)?\s*=/.exec(line)?.[1] ?? ''
}

/** Follows a link: its target is written, and the link stays. */
async function targetOf(name: string): Promise<string> {
  try {
    return await realpath(name)
  } catch {
    const isLink = await lstat(name).then(
      (found) => found.isSymbolicLink(),
      () => false,
    )
    if (isLink) throw new CliError(`${name} is a link that leads nowhere: no password was changed.`)
    return name
  }
}
