import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig, VARIABLES } from '../src/config.ts'

const lines = readFileSync(join(import.meta.dirname, '../.env.example'), 'utf8').split('\n')
const entries = lines.flatMap((line) => {
  const [, hash, name, value] = /^(# )?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line) ?? []
  return name === undefined ? [] : [{ name, value: value ?? '', isDefault: hash !== undefined }]
})

test('.env.example lists exactly the variables that Parley reads', () => {
  assert.deepEqual(entries.map(({ name }) => name).toSorted(), VARIABLES.toSorted())
})

test('what .env.example shows as default is the default', () => {
  const required = {
    DATABASE_URL: 'postgres://x/y',
    PARLEY_SECRET: randomBytes(32).toString('base64'),
  }
  const shown = entries.filter(({ isDefault }) => isDefault).map(({ name, value }) => [name, value])
  assert.deepEqual(readConfig({ ...required, ...Object.fromEntries(shown) }), readConfig(required))
  const unset = entries.filter(({ isDefault }) => !isDefault).map(({ name }) => name)
  assert.deepEqual(unset, Object.keys(required), 'only what is required is not commented out')
})
