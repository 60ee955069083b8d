import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { ParleyError } from '../../rules/errors.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom } from '../../rules/projects/keys.ts'
import type { Db } from '../../store/database.ts'
import { createKeyOwners } from './key-owners.ts'

test('nobody is looked up for a connection that is gone', async () => {
  const untouched = {} as Db
  const owners = createKeyOwners({ db: untouched, authenticate: () => assert.fail('it was looked up') })
  const gone = {
    ip: undefined,
    headers: { 'x-publishable-key': keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00').publishable },
  } as unknown as FastifyRequest
  assert.equal(await owners.find(gone, new ParleyError('not_found')), undefined)
})
