/** Finds comments, strings, numbers and words of the language in a short example. Enough to read by, and 2 KB. */
export type TokenKind = 'plain' | 'comment' | 'string' | 'number' | 'keyword' | 'name'

export interface Token {
  kind: TokenKind
  text: string
  /** Where in the example it begins. */
  at: number
}

type Rules = readonly (readonly [TokenKind, RegExp])[]

const STRINGS = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/y
const NUMBER = /\b\d[\d_]*(?:\.\d+)?\b/y

const SCRIPT: Rules = [
  ['comment', /\/\/[^\n]*|\/\*[^]*?\*\//y],
  ['string', /`(?:\\.|[^`\\])*`/y],
  ['string', STRINGS],
  [
    'keyword',
    /\b(?:import|from|export|const|let|function|return|await|async|for|of|in|new|if|else|try|catch|throw|while|true|false|null|undefined|type|interface)\b/y,
  ],
  ['number', NUMBER],
]

const LANGUAGES: Record<string, Rules> = {
  js: SCRIPT,
  ts: SCRIPT,
  json: [
    ['name', /"(?:\\.|[^"\\\n])*"(?=\s*:)/y],
    ['string', STRINGS],
    ['keyword', /\b(?:true|false|null)\b/y],
    ['number', /-?\b\d[\d.e+-]*\b/y],
  ],
  python: [
    ['comment', /#[^\n]*/y],
    ['string', STRINGS],
    ['keyword', /\b(?:import|from|def|return|for|in|if|else|with|as|try|except|raise|True|False|None|print)\b/y],
    ['number', NUMBER],
  ],
  sh: [
    ['comment', /(?<=^|\s)#[^\n]*/my],
    ['string', /"(?:\\.|[^"\\])*"|'[^']*'/y],
    ['name', /(?<=\s)--?[A-Za-z][\w-]*/y],
    [
      'keyword',
      /(?<=^|[|&;(]\s*)(?:export|set|curl|node|npm|npx|python3|pip|bin\/parley|parley|git|cd|docker|psql|openssl)\b/my,
    ],
  ],
  http: [
    ['name', /^(?:data|event):/my],
    ['comment', /^:[^\n]*/my],
    ['string', STRINGS],
    ['keyword', /\b(?:true|false|null)\b/y],
  ],
}

const ALIASES: Record<string, string> = {
  bash: 'sh',
  shell: 'sh',
  zsh: 'sh',
  javascript: 'js',
  jsx: 'js',
  mjs: 'js',
  typescript: 'ts',
  tsx: 'ts',
  py: 'python',
  sse: 'http',
}

/** Returns the language known here for a word written after three back-ticks, or for the ending of a file's name. */
export function languageOf(name: string): string {
  const short = name.toLowerCase().replace(/^.*\./, '')
  return Object.hasOwn(ALIASES, short) ? (ALIASES[short] ?? short) : short
}

/** Words are taken whole, so that no keyword is found inside of one. */
const WORD = /[\w$]+|\s+|[^]/uy

export function tokensOf(code: string, language: string): Token[] {
  const rules = Object.hasOwn(LANGUAGES, language) ? LANGUAGES[language] : undefined
  if (!rules) return [{ kind: 'plain', text: code, at: 0 }]
  const tokens: Token[] = []
  let at = 0
  while (at < code.length) {
    const { kind, text } = tokenAt(code, at, rules)
    const last = tokens.at(-1)
    if (last?.kind === kind) last.text += text
    else tokens.push({ kind, text, at })
    at += text.length
  }
  return tokens
}

function tokenAt(code: string, at: number, rules: Rules): Omit<Token, 'at'> {
  for (const [kind, pattern] of rules) {
    pattern.lastIndex = at
    const [text = ''] = pattern.exec(code) ?? []
    if (text !== '') return { kind, text }
  }
  WORD.lastIndex = at
  return { kind: 'plain', text: WORD.exec(code)?.[0] ?? code.slice(at) }
}
