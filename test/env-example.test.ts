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

test('a wrong value is refused in words, whatever is wrong with it', () => {
  const wrong: [name: string, value: string, words: string][] = [
    ['PARLEY_PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['PARLEY_PORT', '-1', 'must be a whole number from 0 to 65535'],
    ['PARLEY_PORT', '80.5', 'must be a whole number from 0 to 65535'],
    ['PARLEY_PORT', '1e3', 'must be a whole number from 0 to 65535'],
    ['PARLEY_PORT', '0x1f90', 'must be a whole number from 0 to 65535'],
    ['PARLEY_PORT', 'http', 'must be a whole number from 0 to 65535'],
    ['PARLEY_DRAIN_GRACE_MS', '3600001', 'must be a whole number from 0 to 3600000'],
    ['PARLEY_LEASE_MS', '1', 'must be a whole number from 3000 to 3600000'],
    ['PARLEY_CALLS_MAX', '0', 'must be a whole number from 1 to 1000000'],
    ['PARLEY_AUTO_MIGRATE', 'maybe', 'must be true or false'],
    ['PARLEY_LOG_LEVEL', 'loud', 'must be one of debug, info, warn, error, silent'],
    ['PARLEY_MAIL_FROM', 'x', 'must have 3 to 320 characters'],
  ]
  const required = { DATABASE_URL: 'postgres://x/y', PARLEY_SECRET: randomBytes(32).toString('base64') }
  for (const [name, value, words] of wrong) {
    assert.throws(() => readConfig({ ...required, [name]: value }), { problems: [`${name} ${words}`] })
  }
})
