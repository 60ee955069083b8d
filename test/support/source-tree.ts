/**
 * The repository as data for test/tidy.test.ts. There is no parser here: comments, strings and regular expressions are
 * blanked out, which is all that rules about imports, names and lengths need to not be fooled by text.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'

export interface SourceFile {
  path: string
  text: string
  /** The text with comments and the insides of strings replaced by spaces: every offset and line stays the same. */
  code: string
  templates: Template[]
  imports: Import[]
}

export interface Template {
  offset: number
  text: string
}

export interface Import {
  specifier: string
  /** The imported file, for a relative specifier. */
  target: string | undefined
  offset: number
}

const NOT_OURS = new Set(['node_modules', '.git', '.parley', 'coverage', 'dist', '.env'])

export function readTree(root: string, folder = ''): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !NOT_OURS.has(entry.name) && !entry.name.endsWith('.log'))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name)
      if (entry.isDirectory()) return readTree(root, path)
      return entry.isFile() ? [sourceFile(path, readFileSync(join(root, path), 'utf8'))] : []
    })
}

export function sourceFile(path: string, text: string): SourceFile {
  if (!/\.tsx?$/.test(path)) return { path, text, code: '', templates: [], imports: [] }
  const { code, templates } = blankOut(text)
  return { path, text, code, templates, imports: importsOf(path, text, code) }
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

export function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ')
}

function importsOf(path: string, text: string, code: string): Import[] {
  return [...code.matchAll(/\b(?:from|import|import\s*\()\s*(['"])/g)].map((match) => {
    const offset = match.index + match[0].length
    const specifier = text.slice(offset, text.indexOf(match[1]!, offset))
    const target = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined
    return { specifier, target, offset }
  })
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const STRING = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y
const PATTERN = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y
const TEMPLATE_TEXT = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y
const WORD_OR_SIGN = /[\w$]+|\s+|[\s\S]/y
/** Matches the sign or word before a slash that begins a regular expression and does not divide. */
const BEFORE_PATTERN = /^[^\w$)\]`]$|^(?:return|typeof|case|of|in|throw|await|yield|else)$/

function blankOut(text: string): { code: string; templates: Template[] } {
  const templates: Template[] = []
  /** One entry per open brace: the template that a `${` interrupted, or undefined for any other brace. */
  const braces: (Template | undefined)[] = []
  let code = ''
  let previous = ';'

  function take(kind: RegExp): string | undefined {
    kind.lastIndex = code.length
    return kind.exec(text)?.[0]
  }
  function readTemplate(template: Template): void {
    const part = take(TEMPLATE_TEXT) ?? ''
    template.text += part
    code += blank(part)
    const interrupted = text.startsWith('${', code.length)
    if (interrupted) braces.push(template)
    else templates.push(template)
    previous = interrupted ? '{' : '`'
    code += interrupted ? '${' : text.slice(code.length, code.length + 1)
  }

  while (code.length < text.length) {
    const comment = take(COMMENT)
    const quoted = take(STRING) ?? (BEFORE_PATTERN.test(previous) ? take(PATTERN) : undefined)
    const token = comment ?? quoted ?? take(WORD_OR_SIGN) ?? ''
    if (comment !== undefined) {
      code += blank(comment)
    } else if (quoted !== undefined) {
      code += `${quoted[0]}${blank(quoted.slice(1, -1))}${quoted.at(-1)}`
      previous = ')'
    } else {
      const closed = token === '}' ? braces.pop() : undefined
      if (token === '{') braces.push(undefined)
      if (token.trim() !== '') previous = token
      code += token
      if (token === '`') readTemplate({ offset: code.length, text: '' })
      else if (closed !== undefined) readTemplate(Object.assign(closed, { text: `${closed.text}?` }))
    }
  }
  return { code, templates }
}
