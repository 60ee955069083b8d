/**
 * The architecture as functions: each takes the files of a repository and says where and why they break one rule, as
 * `path:line what, why`. A rule is relaxed here, in the open, or not at all.
 */
import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { blank, lineAt, type SourceFile } from './source-tree.ts'

export type Rule = (files: SourceFile[]) => string[]

/** Where everything is put together: these see all layers, and no layer sees them. */
const WIRING = new Set(['main', 'serve', 'readiness'])
const PLANES = ['gateway', 'console', 'worker', 'matcher', 'cli']
const PLANE_IMPORTS = ['actions', 'providers', 'recommend', 'store', 'rules', 'platform', 'metrics']
const MAY_IMPORT: Record<string, string[]> = {
  ...Object.fromEntries(PLANES.map((plane) => [plane, PLANE_IMPORTS])),
  cli: [...PLANE_IMPORTS, 'config'],
  providers: ['rules', 'platform'],
  actions: ['store', 'rules', 'platform'],
  recommend: ['store', 'rules', 'platform', 'metrics'],
  store: ['rules', 'platform'],
  rules: [],
  platform: [],
  config: ['rules', 'platform'],
  metrics: [],
  stores: ['config', 'store', 'platform'],
}

const IN_STORE = /^src\/store\//
/** Where each package may be imported: a folder, or one file. */
const OWNERS: Record<string, readonly string[]> = {
  pg: ['src/store/'],
  kysely: ['src/store/'],
  fastify: ['src/gateway/', 'src/console/', 'src/matcher/'],
  undici: ['src/providers/', 'src/recommend/matcher-client.ts', 'src/recommend/rehearsal-client.ts'],
  '@lancedb/lancedb': ['src/recommend/offer-index/'],
  'onnxruntime-node': ['src/recommend/embedding/'],
  stripe: ['src/actions/billing/'],
  commander: ['src/cli/'],
  pino: ['src/platform/'],
  'prom-client': ['src/metrics.ts'],
}

/** Programs that are run, so that what they need is in no process that serves. */
const PROGRAMS = ['src/recommend/encoder-build/']

/** All that the web app is built from. None of it runs in the server. */
const DASHBOARD_PACKAGES = new Set([
  '@base-ui/react',
  '@tanstack/react-query',
  '@tanstack/react-router',
  'lucide-react',
  'react',
  'react-dom',
  'react-hook-form',
  'react-markdown',
  'recharts',
  'remark-gfm',
  'uqr',
])
const DASHBOARD_CONFIG = 'dashboard/vite.config.ts'
const CONTRACT = /^src\/console\/contract(?:\.ts$|\/)/

const PURE_NODE_MODULES = /^(?:node:)?(?:assert|assert\/strict|buffer|crypto)$/
const IMPURE =
  /\bDate\.now\b|\bnew Date(?:\(\s*\)|(?!\s*\())|(?<!\bnew )\bDate\(|\bMath\.random\b|\brandom(?:Bytes|UUID|Int|Fill\w*)\b|\bgetRandomValues\b|\bperformance\.now\b|\bhrtime\b/g

const BANNED_NAMES = new Set(['utils', 'helpers', 'common', 'types', 'constants', 'index', 'misc'])
const SRC_LINES_MAX = 300
const FILE_LINES_MAX = 400
const TEST_LINES_MAX = 600
const FUNCTION_LINES_MAX = 70

/** At the start of a line or a subquery, so that a sentence such as "cannot select a route from …" is not taken for SQL. */
const SQL = /(?:^|\()\s*(?:select\b[\s\S]*?\bfrom\b|insert\s+into\b|update\b[\s\S]*?\bset\b|delete\s+from\b)/im

const REGISTRY_HOST = /\bregistry\.(?:npmjs|yarnpkg|npmmirror)\b|\bnpm\.(?:pkg\.github|jsr)\.|\bfiles\.pythonhosted\./g

export const importDirection: Rule = (files) =>
  breaches(files, inFolders('src', 'simulator', 'dashboard'), (file) =>
    file.imports.flatMap(({ target, offset }) => {
      const isType = /\bimport\s+type\b[^'"]*['"]$/.test(file.code.slice(0, offset))
      const why = target === undefined ? undefined : forbiddenImport(file.path, target, isType)
      return why === undefined ? [] : [{ offset, why: `imports ${target}: ${why}` }]
    }),
  )

export const importCycles: Rule = (files) => {
  const byPath = new Map(files.filter(inFolders('src', 'simulator', 'dashboard')).map((file) => [file.path, file]))
  const finished = new Set<string>()
  const found: string[] = []
  function visit(file: SourceFile, trail: string[]): void {
    for (const { target, offset } of file.imports) {
      const next = target === undefined ? undefined : byPath.get(target)
      if (next === undefined || finished.has(next.path)) continue
      if (trail.includes(next.path)) {
        const circle = [...trail.slice(trail.indexOf(next.path)), next.path].join(' -> ')
        found.push(
          `${file.path}:${lineAt(file.text, offset)} closes the circle ${circle}: neither end can be read alone`,
        )
      } else {
        visit(next, [...trail, next.path])
      }
    }
    finished.add(file.path)
  }
  for (const file of byPath.values()) if (!finished.has(file.path)) visit(file, [file.path])
  return found
}

export const programsApart: Rule = (files) =>
  breaches(files, inFolders('src'), (file) =>
    file.imports.flatMap(({ target, offset }) => {
      const program = PROGRAMS.find((folder) => target?.startsWith(folder) && !file.path.startsWith(folder))
      return program === undefined ? [] : [{ offset, why: `imports ${target}: ${program} is a program, to be run` }]
    }),
  )

export const packageOwners: Rule = (files) =>
  breaches(files, inFolders('src', 'simulator'), (file) =>
    file.imports.flatMap(({ specifier, offset }) => {
      const name = packageOf(specifier)
      const owners = Object.hasOwn(OWNERS, name) ? OWNERS[name] : undefined
      if (owners === undefined || owners.some((owner) => file.path.startsWith(owner))) return []
      const why = `imports ${name}, which belongs to ${owners.join(' and ')}: replacing it must not touch the rest`
      return [{ offset, why }]
    }),
  )

/** Where a package may be imported and is not. */
export function unusedOwners(files: SourceFile[]): string[] {
  const isUsed = (name: string, owner: string) =>
    files.some(
      (file) => file.path.startsWith(owner) && file.imports.some(({ specifier }) => packageOf(specifier) === name),
    )
  return Object.entries(OWNERS).flatMap(([name, owners]) =>
    owners.filter((owner) => !isUsed(name, owner)).map((owner) => `${name} in ${owner}`),
  )
}

export const dashboardPackages: Rule = (files) =>
  breaches(
    files,
    (file) => inFolders('src', 'simulator', 'dashboard')(file) && !isTest(file) && file.path !== DASHBOARD_CONFIG,
    (file) =>
      file.imports.flatMap(({ specifier, target, offset }) => {
        const name = packageOf(specifier)
        if (target !== undefined || DASHBOARD_PACKAGES.has(name) === inFolders('dashboard')(file)) return []
        const why = inFolders('dashboard')(file) ? 'no part of the web app' : 'a part of the web app alone'
        return [{ offset, why: `imports ${name}, which is ${why}: what browsers load is chosen one by one` }]
      }),
  )

export const environmentReaders: Rule = (files) =>
  breaches(
    files,
    (file) => inFolders('src', 'simulator')(file) && file.path !== 'src/config.ts',
    (file) => {
      const why = 'reads the environment: only src/config.ts does, where every variable has a name, a type and a check'
      const named = file.imports.filter(({ specifier }) => /^(?:node:)?process$/.test(specifier))
      return [...matches(file.code, /\bprocess\??\.env\b(?!\.\w+ = )|\benv\b[^{}]*\}\s*=\s*process\b/g), ...named].map(
        ({ offset }) => ({ offset, why }),
      )
    },
  )

export const purity: Rule = (files) =>
  breaches(
    files,
    (file) => inFolders('src/rules')(file) && !isTest(file),
    (file) => [
      ...matches(file.code, IMPURE).map(({ offset, text }) => ({
        offset,
        why: `uses ${text}: a rule gets time and chance as arguments, or its test cannot repeat`,
      })),
      ...file.imports
        .filter(({ specifier }) => isBuiltin(specifier) && !PURE_NODE_MODULES.test(specifier))
        .map(({ specifier, offset }) => ({ offset, why: `imports ${specifier}: rules do no I/O` })),
    ],
  )

export const fileNames: Rule = (files) =>
  files.filter(isCode).flatMap((file) => {
    const banned = file.path.split('/').find((part) => BANNED_NAMES.has(part.split('.')[0] ?? ''))
    return banned === undefined
      ? []
      : [`${file.path}:1 is called ${banned}: a name that fits everything collects everything`]
  })

export const namedExports: Rule = (files) =>
  breaches(
    files,
    (file) => isCode(file) && file.path !== DASHBOARD_CONFIG,
    (file) =>
      matches(file.code, /\bexport\s+default\b|\bas\s+default\b|\bexport\s*\*/g).map(({ offset, text }) => ({
        offset,
        why: `says "${text}": one thing has one name, and a reader finds where it is defined`,
      })),
  )

export const fileLengths: Rule = (files) =>
  files.filter(isCode).flatMap((file) => {
    const lines = file.text.trimEnd().split('\n').length
    const most = isTest(file) ? TEST_LINES_MAX : inFolders('src')(file) ? SRC_LINES_MAX : FILE_LINES_MAX
    return lines <= most
      ? []
      : [`${file.path}:${most + 1} is ${lines} lines long, at most ${most}: split it by subject`]
  })

export const functionLengths: Rule = (files) =>
  files.filter(isCode).flatMap((file) =>
    functionsOf(file.code)
      .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
      .map(({ line, lines }) => {
        return `${file.path}:${line} starts a function of ${lines} lines, at most ${FUNCTION_LINES_MAX}: it does two things`
      }),
  )

export const sqlInStore: Rule = (files) =>
  breaches(
    files,
    (file) => inFolders('src', 'simulator')(file) && !IN_STORE.test(file.path) && !isTest(file),
    (file) =>
      file.templates
        .filter(({ text }) => SQL.test(text))
        .map(({ offset }) => ({
          offset,
          why: 'holds SQL: outside of functions/ and migrations/ all of it is in src/store, or nobody can review it',
        })),
  )

export const explainedDependencies: Rule = (files) => {
  const manifest = textOf(files, 'package.json')
  const { dependencies = {} } = JSON.parse(manifest || '{}') as { dependencies?: Record<string, string> }
  const decisions = textOf(files, 'docs/decisions.md')
  return Object.keys(dependencies)
    .filter((name) => !decisions.includes(`\`${name}\``))
    .map((name) => {
      const line = lineAt(manifest, manifest.indexOf(`"${name}":`))
      return `package.json:${line} depends on ${name} and docs/decisions.md does not say why: we answer for code that we ship`
    })
}

export const noRegistryHosts: Rule = (files) => [
  ...breaches(
    files,
    () => true,
    (file) =>
      matches(file.text, REGISTRY_HOST).map(({ offset, text }) => ({
        offset,
        why: `names ${text}: packages come from wherever npm is configured to look, also behind a mirror`,
      })),
  ),
  ...breaches(
    files,
    (file) => posix.basename(file.path) === 'package-lock.json',
    (file) =>
      matches(file.text, /"resolved":/g).map(({ offset }) => ({
        offset,
        why: 'pins a download address: set omit-lockfile-registry-resolved and lock again',
      })),
  ),
]

export const relativeLinks: Rule = (files) => {
  const existing = new Set(files.flatMap(({ path }) => [path, ...foldersOf(path)]))
  return breaches(
    files,
    (file) => file.path.endsWith('.md') && !inFolders('test/fixtures')(file),
    (file) =>
      matches(blankMarkdownCode(file.text), /(?<=\]\()[^)\s]+|(?<=^\[[^\]]+\]: +)\S+/gm)
        .filter(({ text }) => !/^(?:[a-z]+:|#|\/\/)/i.test(text))
        .filter(({ text }) => !existing.has(linkTarget(file.path, text)))
        .map(({ offset, text }) => ({ offset, why: `links to ${text}, which does not exist` })),
  )
}

export const finishedWork: Rule = (files) =>
  breaches(files, inFolders('src', 'simulator', 'scripts', 'dashboard'), (file) =>
    matches(file.text, /\b(?:TODO|FIXME|XXX)\b/g).map(({ offset, text }) => ({
      offset,
      why: `says ${text}: finish it, or write it where someone plans work`,
    })),
  )

function forbiddenImport(from: string, to: string, isType: boolean): string | undefined {
  const outside = !to.startsWith('src/')
  if (from.startsWith('dashboard/')) {
    if (to.startsWith('dashboard/') || (isType && CONTRACT.test(to))) return undefined
    return 'the web app runs in browsers: of the server it knows the types of the contract'
  }
  if (from.startsWith('simulator/')) {
    return outside ? undefined : 'the simulator is an independent witness and shares no code with what it tests'
  }
  if (outside) return 'src/ stands alone; test/, simulator/, bench/ and scripts/ build on it'
  const [layer, wanted] = [layerOf(from), layerOf(to)]
  if (WIRING.has(layer) || layer === wanted) return undefined
  const allowed = MAY_IMPORT[layer]
  if (allowed === undefined) return `src/${layer} has no place among the layers: give it one in test/support/tidy.ts`
  if (wanted === 'metrics' && allowed.includes(wanted) && !isType && !from.endsWith('.test.ts'))
    return 'a process counts once: the wiring makes its metrics, and a plane imports their type'
  if (allowed.includes(wanted)) return undefined
  if (PLANES.includes(layer) && PLANES.includes(wanted)) return 'planes never import each other: they deploy apart'
  return `${layer} may import ${allowed.length === 0 ? 'nothing of ours' : `only ${allowed.join(', ')}`}`
}

/** `src/store/projects/keys.ts` is in `store`; a file directly in src/ is its own layer, together with its test. */
function layerOf(path: string): string {
  return (path.split('/')[1] ?? '').split('.')[0] ?? ''
}

/**
 * Relies on the formatter: a function's last line is a lone `}` at the indentation of its first line. A callback ends in
 * `})` and counts as part of the function around it, which leaves the callbacks of tests free.
 */
function functionsOf(code: string): { line: number; lines: number }[] {
  const starts =
    /^(?:export )?(?:async )?function\b|^(?:export )?const [\w$]+(?:: .+)? = (?:async )?(?:function\b|[(<]|[\w$]+ =>)|^return (?:async )?(?:function\b|\(|[\w$]+ =>)|^(?:static |async |get |set |\*)*(?!(?:if|for|while|switch|catch|return|await|yield)\b)#?[\w$]+(?:<.*>)?(?:\(|: (?:async )?(?:function\b|\(|[\w$]+ =>))/
  const lines = code.split('\n')
  return lines.flatMap((line, n) => {
    if (!starts.test(line.trimStart())) return []
    const length = lengthOfBlock(lines.slice(n), line.search(/\S/))
    return length === undefined ? [] : [{ line: n + 1, lines: length }]
  })
}

function lengthOfBlock(lines: string[], indentation: number): number | undefined {
  for (const [n, line] of lines.entries()) {
    const text = line.trim()
    const isTemplateText = /^(?:`|\$\{)/.test(text)
    if (n === 0 || text === '' || isTemplateText || line.search(/\S/) > indentation) continue
    if (/^\}[,;]?$/.test(text)) return n + 1
    // The parameters end here and the body begins; anything else means that this was no function.
    if (!/^[)}\]].*\{$/.test(text)) return undefined
  }
  return undefined
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

interface Breach {
  offset: number
  why: string
}

export function breaches(
  files: SourceFile[],
  applies: (file: SourceFile) => boolean,
  check: (file: SourceFile) => Breach[],
): string[] {
  return files
    .filter(applies)
    .flatMap((file) => check(file).map(({ offset, why }) => `${file.path}:${lineAt(file.text, offset)} ${why}`))
}

function matches(text: string, pattern: RegExp): { offset: number; text: string }[] {
  return [...text.matchAll(pattern)].map((match) => ({ offset: match.index, text: match[0] }))
}

export function inFolders(...folders: string[]): (file: SourceFile) => boolean {
  return (file) => folders.some((folder) => file.path.startsWith(`${folder}/`))
}

function isCode(file: SourceFile): boolean {
  const generated = file.path.endsWith('.gen.ts') || file.path.startsWith('test/fixtures/')
  const folders = inFolders('src', 'simulator', 'scripts', 'bench', 'test', 'dashboard')
  return /\.tsx?$/.test(file.path) && !generated && folders(file)
}

export function isTest(file: SourceFile): boolean {
  return file.path.endsWith('.test.ts')
}

function textOf(files: SourceFile[], path: string): string {
  return files.find((file) => file.path === path)?.text ?? ''
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, n) => parts.slice(0, n + 1).join('/'))
}

function linkTarget(from: string, link: string): string {
  const path = decodeURIComponent(link.split(/[#?]/)[0] ?? '')
  return posix.join(posix.dirname(from), path).replace(/\/$/, '')
}

function blankMarkdownCode(text: string): string {
  return text.replaceAll(/^(```+)[\s\S]*?^\1/gm, blank).replaceAll(/`[^`\n]+`/g, blank)
}
