/** The rule of test/tidy.test.ts about SQL functions: each has one body, where everybody looks for it, and goes with them. */
import { posix } from 'node:path'
import { blank, lineAt, type SourceFile } from './source-tree.ts'
import type { Rule } from './tidy.ts'

/** Migrations up to this one have bodies of functions; they cannot be edited any more, and functions/ replaces those bodies. */
const LAST_WITH_FUNCTIONS = '0020'
/** The migration before this one (0021) still dropped functions: all of them had their bodies in migrations until then. */
const FIRST_WITHOUT_DROPS = '0022'
const DROP = /\bdrop\s+(?:function|procedure)\b/gi
const DEFINITION = /\bcreate\s+(?:or\s+replace\s+)?(?:function|procedure)\b\s*"?(\w*)/gi

export const oneBodyPerFunction: Rule = (files) => {
  const own = files.filter(({ path }) => path.startsWith('functions/'))
  const owners = Map.groupBy(own, ({ text }) => definitionsOf(withoutBodies(text))[0]?.name)
  return [...files.filter(isNewMigration).flatMap(judgeMigration), ...own.flatMap((file) => judgeFile(file, owners))]
}

function isNewMigration({ path }: SourceFile): boolean {
  return (
    path.startsWith('migrations/') && posix.basename(path).slice(0, LAST_WITH_FUNCTIONS.length) > LAST_WITH_FUNCTIONS
  )
}

/** Also what is in a string, which a migration could execute. */
function judgeMigration({ path, text }: SourceFile): string[] {
  const statements = withoutComments(text)
  const defined = definitionsOf(statements).map(({ name, offset }) => {
    return `${path}:${lineAt(text, offset)} defines ${name}: its body belongs in functions/, where the current one is found`
  })
  const dropped = path >= `migrations/${FIRST_WITHOUT_DROPS}` ? [...statements.matchAll(DROP)] : []
  return defined.concat(
    dropped.map(({ index }) => {
      return `${path}:${lineAt(text, index)} drops a function that others still call until the last migration: drop it in the file of what called it`
    }),
  )
}

function judgeFile({ path, text }: SourceFile, owners: Map<string | undefined, SourceFile[]>): string[] {
  const [first, second] = definitionsOf(withoutBodies(text))
  const at = (offset: number) => `${path}:${lineAt(text, offset)}`
  if (posix.dirname(path) !== 'functions' || !path.endsWith('.sql')) {
    return [`${at(0)} is not applied: only functions/NAME.sql is`]
  }
  if (!first) return [`${at(0)} defines no function: nothing else is looked for there`]
  if (second) return [`${at(second.offset)} defines ${second.name} as well: each function has a file of its own`]
  if (first.name !== posix.basename(path, '.sql')) {
    const others = owners.get(first.name)?.filter((file) => file.path !== path) ?? []
    const also = others.length > 0 ? `, which ${others[0]?.path} does, too` : ''
    return [`${at(first.offset)} defines ${first.name}${also}: a function is found by its file's name`]
  }
  if (!/^create\s+or\s+replace\b/i.test(text.slice(first.offset))) {
    return [`${at(first.offset)} says "create" without "or replace": it is applied again when it changes`]
  }
  const dropped = new RegExp(`\\bdrop\\s+function\\b[^;]*\\b${first.name}\\b`, 'i').exec(withoutComments(text))
  if (dropped) {
    return [`${at(dropped.index)} drops an earlier form that may be running: give the new form a name of its own`]
  }
  return text.startsWith('-- ') ? [] : [`${at(0)} begins without a comment: say what ${first.name} is for, and why`]
}

function definitionsOf(text: string): { name: string; offset: number }[] {
  return [...text.matchAll(DEFINITION)].map((match) => ({ name: match[1] ?? '', offset: match.index }))
}

function withoutComments(text: string): string {
  return text.replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, blank)
}

function withoutBodies(text: string): string {
  return withoutComments(text).replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, blank)
}
