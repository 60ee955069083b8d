import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNetworkFile, networkLinesOf } from './network-file.ts'

test('files of networks are told by their names', () => {
  assert.deepEqual(
    ['aws.json', 'a.txt', 'B.CIDR', 'readme.md', 'a.json.tmp', '.a.txt', 'txt', 'a.txt~'].filter(isNetworkFile),
    ['aws.json', 'a.txt', 'B.CIDR'],
  )
})

test('lists of clouds are read whatever their shape', () => {
  const shapes: unknown[] = [
    {
      syncToken: '1763000000',
      createDate: '2026-11-13-02-13-20',
      prefixes: [{ ip_prefix: '198.51.100.0/24', region: 'eu-central-1', service: 'EC2' }],
      ipv6_prefixes: [{ ipv6_prefix: '2001:db8::/32', region: 'eu-central-1', service: 'EC2' }],
    },
    {
      syncToken: '1763000000000',
      creationTime: '2026-11-13T02:13:20.1',
      prefixes: [{ ipv4Prefix: '198.51.100.0/24', scope: 'europe-west3' }, { ipv6Prefix: '2001:db8::/32' }],
    },
    { cloud: 'Public', values: [{ properties: { addressPrefixes: ['198.51.100.0/24', '2001:db8::/32'] } }] },
    { regions: [{ region: 'x/1', cidrs: [{ cidr: '198.51.100.0/24', tags: ['OCI'] }, { cidr: '2001:db8::/32' }] }] },
    ['198.51.100.0/24', '2001:db8::/32'],
  ]
  for (const shape of shapes)
    assert.deepEqual(networkLinesOf('a.json', `\uFEFF${JSON.stringify(shape)}`).toSorted(), [
      '198.51.100.0/24',
      '2001:db8::/32',
    ])
})

test('what is written as a network and is none is not lost, so that it can be reported', () => {
  assert.deepEqual(networkLinesOf('a.json', '{"prefixes":[{"ip_prefix":"198.51.100.0/99"}]}'), ['198.51.100.0/99'])
  assert.deepEqual(networkLinesOf('a.json', '["192.0.2.1","words"]'), ['192.0.2.1', 'words'])
  assert.deepEqual(networkLinesOf('a.json', '{"version":"1.2.3.4","page":"a/b"}'), [])
  assert.deepEqual(networkLinesOf('a.txt', '192.0.2.1\r\n# b\n'), ['192.0.2.1', '# b', ''])
  assert.throws(() => networkLinesOf('a.json', '<html>'), SyntaxError)
})

test('a file that is nested deeply is read', () => {
  const depth = 5_000
  assert.deepEqual(networkLinesOf('a.json', `${'['.repeat(depth)}"192.0.2.0/24"${']'.repeat(depth)}`), ['192.0.2.0/24'])
})
