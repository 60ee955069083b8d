/** The rule of test/tidy.test.ts about comments: a reader learns from the first word what a sentence is about. */
import { lineAt, type SourceFile } from './source-tree.ts'
import type { Rule } from './tidy.ts'

const RELATIVE = '(?:What|Who|Whoever|Whose|Whom|Whatever|Whichever|Which|Those|That|Of)\\b'
const OPENINGS = new RegExp(
  `(?:/\\*\\*?[ \\t]*(?:\\n[ \\t]*\\*[ \\t]*)?|(?:^|[ \\t])// |^[ \\t]*-- )(?:… ?)?${RELATIVE}`,
  'gm',
)
const LINE_COMMENT = /^\s*(?:\/\/|--)/

export const subjectsFirst: Rule = (files) =>
  files
    .filter(({ path }) => /\.(?:tsx?|css)$/.test(path) || path.startsWith('functions/'))
    .flatMap((file) =>
      openingsIn(file).map((line) => `${file.path}:${line} opens with a relative clause: begin with the subject`),
    )

function openingsIn({ text }: SourceFile): number[] {
  const lines = text.split('\n')
  return [...text.matchAll(OPENINGS)]
    .map((match) => lineAt(text, match.index + match[0].search(/\S/)))
    .filter((line) => !goesOn(lines, line))
}

/** A sentence that began on the line above has its subject there. */
function goesOn(lines: readonly string[], line: number): boolean {
  return LINE_COMMENT.test(lines[line - 1] ?? '') && LINE_COMMENT.test(lines[line - 2] ?? '')
}
