import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CommanderError, type Command } from 'commander'
import { createProgram } from '../src/cli/program.ts'

/** Commands that the documentation shows are commands that there are. Nothing is run: they are only parsed. */

const ROOT = join(import.meta.dirname, '..')
const notHere = () => Promise.reject(new Error('not here'))
const ROLES = ['gateway', 'worker', 'console', 'matcher'] as const

function freshProgram(): Command {
  const program = createProgram({ roles: ROLES, usualRoles: ROLES, serve: notHere })
  return program.configureOutput({ writeErr: () => {} })
}

/** As a shell splits them, up to a comment. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  const end = words.findIndex((word) => /^(?:#|[|;&]|&&)/.test(word))
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replaceAll(/["']/g, ''))
}

function walk(words: readonly string[]): { command: Command; rest: string[] } {
  let command = freshProgram()
  const rest = [...words]
  for (;;) {
    const next = command.commands.find((child) => child.name() === rest[0])
    if (!next) return { command, rest }
    command = next
    rest.shift()
  }
}

/** Returns the problem with a whole command line, or undefined if there is none. */
function problemOf(words: readonly string[]): string | undefined {
  const { command, rest } = walk(words)
  if (command.commands.length > 0) return `there is no command ${rest[0] ?? ''}`
  if (rest.includes('--help')) return undefined
  try {
    const { operands, unknown } = command.parseOptions(rest)
    if (unknown.length > 0) return `unknown: ${unknown.join(' ')}`
    const given = operands.filter((word) => word !== '…').length
    const { registeredArguments: wanted } = command
    const least = wanted.filter(({ required }) => required).length
    const most = wanted.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : wanted.length
    if (given < least || given > most) return `${given} arguments, not ${least} to ${most}`
  } catch (error) {
    if (error instanceof CommanderError) return error.message
    throw error
  }
  const missing = command.options.find(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  )
  return missing && `without ${missing.long}`
}

/** In a sentence a command may be cut short; what is there must exist. */
function problemOfPart(words: readonly string[]): string | undefined {
  const { command, rest } = walk(words)
  if (command.commands.length > 0 && /^[a-z]/.test(rest[0] ?? '')) return `there is no command ${rest[0]}`
  const known = new Set(['--help', ...command.options.map(({ long }) => long)])
  return rest.find((word) => word.startsWith('--') && !known.has(word))
}

const PARLEY = /^(?:[A-Z_]+=\S+ )*(?:docker compose exec \w+ )?(?:bin\/)?parley (?=\S)/

const GROUPS = freshProgram().commands.filter(({ commands }) => commands.length > 0)

/** `wallet refund --call`: in a sentence the program's name is left out. */
function isInGroup(text: string): boolean {
  return GROUPS.some((group) => new RegExp(`^${group.name()} [a-z]`).test(text))
}

interface Shown {
  where: string
  text: string
  isWhole: boolean
}

function commandsIn(path: string): Shown[] {
  const [blocks, prose]: [string[], string[]] = [[], []]
  for (const [n, part] of readFileSync(join(ROOT, path), 'utf8').split(/^```/m).entries())
    (n % 2 === 1 ? blocks : prose).push(part)
  const shown = (text: string, isWhole: boolean) => ({ where: `${path}: ${text}`, text, isWhole })
  return [
    ...blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n')).map((line) => shown(line, true)),
    ...prose
      .flatMap((part) => part.match(/(?<=`)[^`]+(?=`)/g) ?? [])
      .map((code) => shown(code.replaceAll('\n', ' '), false)),
  ].flatMap((one) => {
    const isNamed = PARLEY.test(one.text) || (!one.isWhole && isInGroup(one.text))
    return isNamed ? [{ ...one, text: one.text.replace(PARLEY, '') }] : []
  })
}

test('every command in the documentation is one that the program takes', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  )
  const paths = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...pages.map((name) => `docs/${name}`)]
  const all = paths.flatMap(commandsIn)
  assert.ok(all.filter(({ isWhole }) => isWhole).length > 40 && all.length > 70, `${all.length} were found`)
  const wrong = all.flatMap(({ where, text, isWhole }) => {
    const problem = (isWhole ? problemOf : problemOfPart)(wordsOf(text))
    return problem === undefined ? [] : [`${where}: ${problem}`]
  })
  assert.deepEqual(wrong, [])
})

test('the example of every command is one that the program takes', () => {
  const examplesOf = (command: Command): string[] => {
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
    const own = (help.split('\nExample:\n')[1] ?? '').split('\n').map((line) => line.trim())
    return [...own.filter((line) => PARLEY.test(line)), ...command.commands.flatMap(examplesOf)]
  }
  const examples = examplesOf(freshProgram())
  assert.ok(examples.length > 40, `${examples.length} were found`)
  const wrong = examples.flatMap((example) => {
    const problem = problemOf(wordsOf(example.replace(PARLEY, '')))
    return problem === undefined ? [] : [`${example}: ${problem}`]
  })
  assert.deepEqual(wrong, [])
})

test('a command that is wrong is noticed', () => {
  for (const line of [
    'project create --publisher ID --name x --domain a.example',
    'projects list',
    'wallet topup PROJECT',
    'wallet adjust PROJECT -2.5',
    'doctor now',
    'audit --fully',
  ])
    assert.notEqual(problemOf(wordsOf(line)), undefined, line)
  assert.equal(problemOf(wordsOf('wallet adjust PROJECT -2.5 --reason "typed 25" # as it should be')), undefined)
  assert.equal(problemOfPart(['wallet', 'nothing']), 'there is no command nothing')
  assert.equal(problemOfPart(['wallet', 'refund', '--cal']), '--cal')
  assert.equal(problemOfPart(['wallet', 'refund', '--call']), undefined)
})
