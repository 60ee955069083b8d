import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from './program.ts'

const notHere = () => Promise.reject(new Error('not here'))
const program = createProgram({
  roles: ['gateway', 'worker'],
  usualRoles: ['gateway', 'worker'],
  serve: notHere,
})

function leavesOf(command: Command, path: string): [path: string, leaf: Command][] {
  const children = command.commands.filter((child) => child.name() !== 'help')
  return children.length === 0
    ? [[path, command]]
    : children.flatMap((child) => leavesOf(child, `${path} ${child.name()}`))
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

test('every command explains itself with an example of its own', () => {
  const leaves = leavesOf(program, 'parley')
  assert.ok(leaves.length > 40)
  for (const [path, leaf] of leaves) assert.ok(helpOf(leaf).includes(`\nExample:\n  ${path}`), path)
})

test('every command but serve can answer in JSON', () => {
  const silent = leavesOf(program, 'parley').filter(
    ([, leaf]) => !leaf.options.some((option) => option.long === '--json'),
  )
  assert.deepEqual(
    silent.map(([path]) => path),
    ['parley serve'],
  )
})

test('no option takes an API key itself', () => {
  for (const [path, leaf] of leavesOf(program, 'parley')) {
    const takesKey = leaf.options.some((option) => option.long === '--api-key')
    assert.ok(!takesKey, `${path} --api-key would leave keys in shell histories`)
  }
})
