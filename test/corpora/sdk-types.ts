import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fields } from './requests.ts'
import type { BodyType } from './targets.ts'

/** Bodies are checked against the types of the providers' own SDKs by the compiler: one program for all of them. */

const ROOT = join(import.meta.dirname, '../..')

const DECLARATIONS = `
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { Content, GenerationConfig, SafetySetting, Tool, ToolConfig } from '@google/genai'
import type { ConverseStreamBody } from ${JSON.stringify(join(import.meta.dirname, 'converse.ts'))}

/** Google's SDK has enums, and their values are what is sent. */
type Wire<T> = unknown extends T
  ? T
  : T extends string
    ? \`\${T}\`
    : T extends readonly (infer Item)[]
      ? Wire<Item>[]
      : T extends object
        ? { [Name in keyof T]: Wire<T[Name]> }
        : T

interface GenerateContentBody {
  contents: Content[]
  systemInstruction?: Content
  tools?: Tool[]
  toolConfig?: ToolConfig
  generationConfig?: GenerationConfig
  safetySettings?: SafetySetting[]
}

export interface Bodies {
  openai: ChatCompletionCreateParamsStreaming
  anthropic: MessageCreateParamsStreaming
  gemini: Wire<GenerateContentBody>
  converse: ConverseStreamBody
}
`

const OPTIONS = {
  extends: join(ROOT, 'tsconfig.json'),
  // Google's types name some of the DOM.
  compilerOptions: { lib: ['es2025', 'esnext.disposable', 'dom'], types: ['node'], exactOptionalPropertyTypes: true },
  include: ['*.ts'],
}

export interface TypedBody {
  /** Names it in what is returned. */
  title: string
  type: BodyType
  body: Fields
}

/** Returns the compiler's errors, each with the title of its body. */
export async function typeErrorsIn(bodies: readonly TypedBody[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-corpora-'))
  try {
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(OPTIONS))
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'types.ts'), DECLARATIONS)
    // One line for each: its number tells which body an error is about.
    const lines = bodies.map(
      ({ type, body }, n) => `export const body${n}: Bodies['${type}'] = ${JSON.stringify(body)}`,
    )
    await writeFile(join(folder, 'bodies.ts'), [`import type { Bodies } from './types.ts'`, ...lines].join('\n'))
    const output = await compile(folder)
    const errors = output.split('\n').filter((line) => /error TS\d+/.test(line))
    return errors.map((error) => {
      const line = Number(/^bodies\.ts\((\d+),/.exec(error)?.[1] ?? 0)
      return `${bodies[line - 2]?.title ?? 'the program'}: ${error}`
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

function compile(folder: string): Promise<string> {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const flags = ['--noEmit', '--pretty', 'false', '--project', folder]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [compiler, ...flags], { cwd: folder, maxBuffer: 2 ** 27 }, (error, stdout, stderr) => {
      // It exits with 1 or 2 where it finds errors, and says them on stdout.
      if (error && !stdout.includes('error TS')) reject(new Error(`tsc failed: ${stderr || error.message}`))
      else resolve(stdout)
    })
  })
}
