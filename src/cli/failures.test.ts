import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from '../providers/provider.ts'
import { MigrationBusy } from '../store/migrate.ts'
import { ForeignMigration } from '../store/migrations.ts'
import { sentenceOf } from './failures.ts'
import { reasonOf } from './catalogue/probe.ts'
import { framesOf } from '../platform/log.ts'

const URL = 'postgres://parley:hidden@db.example:5432/parley'

function failure(code: string, message = 'failed'): Error {
  return Object.assign(new Error(message), { code })
}

test('each way in which the database fails is told apart, with what to do and without the password', () => {
  const cases: [Error, RegExp][] = [
    [failure('ECONNREFUSED'), /at db\.example:5432 cannot be reached.*DATABASE_URL/],
    [new Error('timeout exceeded when trying to connect'), /cannot be reached/],
    [failure('42P01', 'relation "publishers" does not exist'), /Run: parley migrate/],
    [failure('3D000'), /no database "parley" at db\.example:5432/],
    [
      failure('42501', 'permission denied to create role'),
      /^parley has no right to do this \(permission denied to create role\)\. .*owns the tables.*Hosted databases\.$/,
    ],
    [failure('28P01'), /refuses the user or the password/],
    [new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), /refuses the user/],
    [failure('28000'), /refuses the user or the password/],
    [failure('40P01'), /^The database is busy \(40P01\): the statement that failed changed nothing\. Run it again\.$/],
    [failure('57014'), /^The database is busy \(57014\): .* Run it again\.$/],
    [
      new MigrationBusy('0016_owed_and_anomalies.sql', '55P03', failure('55P03')),
      /^The database is busy \(55P03\): nothing of 0016 was changed\. Run it again\.$/,
    ],
    [
      new MigrationBusy('0016_owed_and_anomalies.sql', '57P01', failure('57P01')),
      /^The database at db\.example:5432 has ended this connection \(57P01: .*\): nothing of 0016 was changed\. Run it again\.$/,
    ],
    [
      new MigrationBusy('function ledger_apply', 'XX000', failure('XX000')),
      /^The database is busy \(XX000\): nothing of function ledger_apply was changed\. Run it again\.$/,
    ],
    [failure('57P01'), /has ended this connection .*: what it had not finished was not changed\. Run it again\.$/],
    [failure('25006'), /^The database at db\.example:5432 is read-only: nothing was changed\. .*DATABASE_URL/],
    [failure('53300'), /^The database at db\.example:5432 has no connections left: nothing was changed\. /],
    [
      failure('57P03'),
      /^The database at db\.example:5432 takes no connections right now \(57P03\): nothing was changed\. /,
    ],
    [
      Object.assign(failure('55000'), { severity: 'FATAL' }),
      /^The database at db\.example:5432 takes no connections right now \(55000\): .*allow_connections/,
    ],
    [
      new ForeignMigration('0016_owed_and_anomalies.sql'),
      /^Migration 0016_owed_and_anomalies\.sql: .* than the one that migrated the database\. Install the released files\.$/,
    ],
    [new Error('It went wrong.'), /^This failed: It went wrong\.$/],
    [failure('22003', 'bigint out of range'), /^This failed: bigint out of range\.$/],
  ]
  for (const [error, expected] of cases) {
    assert.match(sentenceOf(error, URL), expected)
    assert.doesNotMatch(sentenceOf(error, URL), /hidden|\n/)
  }
})

test('a crash is logged by its frames, never by its text', () => {
  const error = new Error('the prompt was: my secret\n    at home, said the user')
  const frames = framesOf(error)
  assert.ok(frames.length > 0 && frames.every((frame) => frame.startsWith('at ')))
  assert.match(frames[0] ?? '', /failures\.test\.ts/)
  assert.doesNotMatch(frames.join('\n'), /secret|home/)
  assert.deepEqual(framesOf('a text that was thrown'), [])
})

function reason(...failed: ConstructorParameters<typeof UpstreamError>): string {
  return reasonOf(new UpstreamError(...failed), 'https://api.example/v1', 'large')
}

test('why a provider does not answer is said in words', () => {
  assert.match(reason('key_rejected', { status: 401 }), /refuses the API key \(401\)/)
  assert.match(reason('rejected', { status: 403 }), /refuses the request \(403\)/)
  assert.match(reason('rejected', { status: 404 }), /no such model or address \(404\)/)
  assert.match(reason('dns'), /^https:\/\/api\.example\/v1 did not answer with large\. The host name/)
})
