/**
 * Reads Dockerfile, .dockerignore and compose.yaml as far as ours use them, so that tests can do what Docker would do
 * on machines without it. What they do not know is an error, never silently skipped.
 */
import { globSync } from 'node:fs'

export interface Instruction {
  name: string
  text: string
}

function instructionsOf(dockerfile: string): Instruction[] {
  return dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, text] = /^([A-Z]+) (.+)$/.exec(line) ?? []
      if (name === undefined || text === undefined) throw new Error(`not an instruction: ${line}`)
      return { name, text }
    })
}

export interface Stage {
  base: string
  /** The name by which other stages copy from it; the last stage, which becomes the image, has none. */
  name: string | undefined
  instructions: Instruction[]
}

/** Each FROM begins a stage. */
export function stagesOf(dockerfile: string): Stage[] {
  const stages: Stage[] = []
  for (const instruction of instructionsOf(dockerfile)) {
    if (instruction.name === 'FROM') {
      const [, base, name] = /^(\S+)(?: AS (\S+))?$/.exec(instruction.text) ?? []
      if (base === undefined) throw new Error(`not understood: FROM ${instruction.text}`)
      stages.push({ base, name, instructions: [] })
    } else {
      const stage = stages.at(-1)
      if (!stage) throw new Error(`${instruction.name} stands before the first FROM`)
      stage.instructions.push(instruction)
    }
  }
  return stages
}

export interface Copy {
  /** The stage to copy from; the build context when undefined. */
  from: string | undefined
  sources: string[]
  to: string
}

/** `COPY [--from=stage] source… to` */
export function copyOf(text: string): Copy {
  const words = text.split(/\s+/)
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined
  const to = words.pop()
  if (to === undefined || words.length === 0 || words.some((word) => word.startsWith('--')))
    throw new Error(`not understood: COPY ${text}`)
  return { from, sources: words, to }
}

/** `ENV A=1 B=2` */
export function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries(text.split(/\s+/).map((pair) => pair.split('=', 2) as [string, string]))
}

/** The files of the build context below these paths: Docker copies nothing that .dockerignore leaves out. */
export function filesToCopy(context: string, dockerignore: string, sources: readonly string[]): string[] {
  const isIgnored = ignoredBy(dockerignore)
  return sources.flatMap((source) => {
    const files = globSync([source, `${source}/**`], { cwd: context, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`.slice(context.length + 1))
      .filter((path) => !isIgnored(path))
    if (files.length === 0) throw new Error(`COPY ${source}: nothing is left of it`)
    return files
  })
}

/** The last line that fits a path, or a folder above it, decides. */
export function ignoredBy(dockerignore: string): (path: string) => boolean {
  const rules = dockerignore
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ pattern: patternOf(line.replace(/^!/, '')), ignores: !line.startsWith('!') }))
  return (path) => rules.findLast(({ pattern }) => pattern.test(path))?.ignores ?? false
}

/** As Docker reads it: `*` also takes names that begin with a dot, which the globs of Node do not. */
function patternOf(rule: string): RegExp {
  const source = RegExp.escape(rule)
    .replaceAll(String.raw`\*\*\/`, '(?:.*/)?')
    .replaceAll(String.raw`\*`, '[^/]*')
  return new RegExp(`^${source}(?:/|$)`)
}

export type Yaml = string | Yaml[] | { [name: string]: Yaml }

/** Maps, lists of texts, texts, and lists in JSON. */
export function parseYaml(text: string): Yaml {
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('#'))
    .map((line) => ({ depth: line.search(/\S/), text: line.trim() }))

  function read(depth: number): Yaml {
    if (lines[0]?.text.startsWith('- ')) {
      const list: Yaml[] = []
      while (lines[0]?.depth === depth) list.push(scalar(String(lines.shift()?.text).slice(2)))
      return list
    }
    const map: Record<string, Yaml> = {}
    while (lines[0]?.depth === depth) {
      const line = String(lines.shift()?.text)
      const [, name, value] = /^([\w-]+):(?: (.*))?$/.exec(line) ?? []
      if (name === undefined) throw new Error(`not understood: ${line}`)
      const next = lines[0]
      map[name] = value === undefined ? (next && next.depth > depth ? read(next.depth) : '') : scalar(value)
    }
    return map
  }
  return read(0)
}

function scalar(text: string): Yaml {
  // Ours quote with ' and never within a text.
  return /^['[]/.test(text) ? (JSON.parse(text.replaceAll("'", '"')) as Yaml) : text
}

/** `${NAME:-default}` and `${NAME:?why it is needed}`, as compose fills them in. */
export function interpolate(text: string, env: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
    const value = env[name]
    if (value) return value
    if (kind === '?') throw new Error(`${name}: ${rest}`)
    return rest
  })
}
