import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { readVariable } from '../../config.ts'
import { CliError } from '../failures.ts'

/** Never an argument: those are in the shell's history and in the list of processes, for everyone to read. */
export interface ApiKeyOptions {
  /** False: --no-api-key. */
  apiKey: boolean
  apiKeyStdin?: boolean
  apiKeyFile?: string
  apiKeyEnv?: string
}

const KEY_CHARACTERS_MAX = 8_192

export function addApiKeyOptions(command: Command, whenUnsaid: string): Command {
  return command
    .option('--api-key-stdin', `read the API key from standard input${whenUnsaid}`)
    .option('--api-key-file <path>', 'read the API key from a file')
    .option('--api-key-env <name>', 'read the API key from this environment variable')
    .option('--no-api-key', 'the provider asks for none')
}

/** Null: the provider asks for none. Undefined: nothing was said. */
export async function readApiKey(options: ApiKeyOptions): Promise<string | null | undefined> {
  const sources = [
    !options.apiKey,
    options.apiKeyStdin,
    options.apiKeyFile !== undefined,
    options.apiKeyEnv !== undefined,
  ]
  if (sources.filter(Boolean).length > 1) {
    throw new CliError('Give the API key in one way: --api-key-stdin, --api-key-file, --api-key-env or --no-api-key.')
  }
  if (!options.apiKey) return null
  if (options.apiKeyStdin)
    return expectKey(process.stdin.isTTY ? await askForKey() : await readStdin(), 'standard input')
  if (options.apiKeyFile !== undefined) return expectKey(await readKeyFile(options.apiKeyFile), options.apiKeyFile)
  if (options.apiKeyEnv !== undefined) return expectKey(readVariable(options.apiKeyEnv) ?? '', options.apiKeyEnv)
  return undefined
}

/** From standard input when nothing was said. Null: the provider asks for none. */
export async function requireApiKey(options: ApiKeyOptions): Promise<string | null> {
  const said = await readApiKey(options)
  return said === undefined ? ((await readApiKey({ ...options, apiKeyStdin: true })) ?? null) : said
}

/** It becomes an HTTP header, where a line break or a letter outside ASCII would fail every call. */
function expectKey(text: string, source: string): string {
  const key = onOneLine(text.trim())
  if (key === '') {
    throw new CliError(
      `There is no API key in ${source}. Put one there, or say --no-api-key if the provider asks for none.`,
    )
  }
  if (key.length > KEY_CHARACTERS_MAX || !/^[\x21-\x7e]+$/.test(key)) {
    throw new CliError(`What is in ${source} is not an API key: it must be one line of printable ASCII without spaces.`)
  }
  return key
}

/** Google hands out the credentials of a service account as a JSON file of many lines, which is kept as base64. */
function onOneLine(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    return Buffer.from(JSON.stringify(JSON.parse(text))).toString('base64')
  } catch {
    return text
  }
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    throw new CliError(`The file ${path} cannot be read. Check --api-key-file.`)
  }
}

async function readStdin(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > KEY_CHARACTERS_MAX) break
  }
  return text
}

async function askForKey(): Promise<string> {
  process.stderr.write('API key (not shown while you type): ')
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  terminal.on('SIGINT', () => process.exit(130))
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
