import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createMetrics } from '../../metrics.ts'
import { createLog } from '../../platform/log.ts'
import { createNetworkFiles, followDataCentres } from './data-centres.ts'

async function createFolder(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'parley-networks-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  let minute = 0
  return {
    directory,
    log,
    /** Lines logged since the last call. */
    logged: () => lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>),
    /** Each a minute after the one before, however fast the test is. */
    async write(name: string, text: string) {
      await writeFile(join(directory, name), text)
      minute += 1
      await utimes(join(directory, name), minute * 60, minute * 60)
    },
  }
}

test('the networks of every file of the folder are known, and those of a file that is gone are not', async (t) => {
  const { directory, log, logged, write } = await createFolder(t)
  const files = createNetworkFiles(directory, log)
  await write('a.txt', '198.51.100.0/24\n')
  await write('b.json', '{"prefixes":[{"ipv6Prefix":"2001:db8::/32"}]}')
  await write('notes.md', '203.0.113.0/24')
  assert.equal(files.has('198.51.100.1'), false, 'before it is read')
  await files.refresh()
  assert.equal(files.size, 2)
  assert.deepEqual(['198.51.100.1', '2001:db8::1', '203.0.113.1'].map(files.has), [true, true, false])
  await rm(join(directory, 'a.txt'))
  logged()
  await files.refresh()
  await files.refresh()
  assert.deepEqual(['198.51.100.1', '2001:db8::1'].map(files.has), [false, true])
  assert.deepEqual(
    logged().map(({ level, file, networks }) => [level, file, networks]),
    [['warn', 'a.txt', 1]],
  )
})

test('what is too large to be read at once, or no file at all, is told of once and changes nothing', async (t) => {
  const { directory, log, logged, write } = await createFolder(t)
  const files = createNetworkFiles(directory, log)
  await write('a.txt', '198.51.100.0/24')
  await files.refresh()
  logged()
  await write('a.txt', '# not a network\n'.repeat(1_100_000))
  await mkdir(join(directory, 'b.txt'))
  await files.refresh()
  await files.refresh()
  assert.deepEqual(
    logged().map(({ level, file }) => [level, file]),
    [
      ['warn', 'a.txt'],
      ['warn', 'b.txt'],
    ],
  )
  assert.ok(files.has('198.51.100.1'))
})

test('a file is read again when it has changed, and only then', async (t) => {
  const { directory, log, logged, write } = await createFolder(t)
  const files = createNetworkFiles(directory, log)
  await write('a.cidr', '198.51.100.0/24')
  await files.refresh()
  assert.deepEqual(
    logged().map(({ msg, file, networks }) => [msg, file, networks]),
    [['a file of networks was read', 'a.cidr', 1]],
  )
  await files.refresh()
  assert.deepEqual(logged(), [])
  // As long as before: the time alone tells.
  await write('a.cidr', '203.0.113.0/24\n'.slice(0, 15))
  await files.refresh()
  assert.deepEqual(['198.51.100.1', '203.0.113.1'].map(files.has), [false, true])
  assert.equal(logged().length, 1)
})

test('a file that is broken counts as it was before, and is told of once', async (t) => {
  const { directory, log, logged, write } = await createFolder(t)
  const files = createNetworkFiles(directory, log)
  await write('a.json', '["198.51.100.0/24"]')
  await write('b.txt', '203.0.113.0/24')
  await files.refresh()
  logged()
  await write('a.json', '["198.51.100.0/24"')
  await write('b.txt', '<html>no such list</html>')
  await files.refresh()
  await files.refresh()
  assert.deepEqual(
    logged().map(({ level, file, msg }) => [level, file, msg]),
    [
      ['warn', 'a.json', 'a file of networks cannot be read: its last good version is kept'],
      ['warn', 'b.txt', 'a file of networks has none: its last good version is kept'],
    ],
  )
  assert.deepEqual(['198.51.100.1', '203.0.113.1'].map(files.has), [true, true])
  await write('a.json', '["192.0.2.0/24"]')
  await files.refresh()
  assert.deepEqual(['198.51.100.1', '192.0.2.1'].map(files.has), [false, true])
})

test('lines that are no networks are counted in the log, and the others are used', async (t) => {
  const { directory, log, logged, write } = await createFolder(t)
  const files = createNetworkFiles(directory, log)
  await write('a.txt', '198.51.100.0/24\n10.0.0.0/99\nwords')
  await files.refresh()
  const [line] = logged()
  assert.deepEqual([line?.rejected, line?.firstRejectedLine, line?.networks], [2, 2, 1])
  assert.ok(files.has('198.51.100.1'))
})

test('a folder that cannot be read fails the job, and what was known stays', async (t) => {
  const { directory, log, write } = await createFolder(t)
  const files = createNetworkFiles(directory, log)
  await write('a.txt', '198.51.100.0/24')
  await files.refresh()
  await rm(directory, { recursive: true })
  await assert.rejects(files.refresh(), { code: 'ENOENT' })
  assert.ok(files.has('198.51.100.1'))
})

test('it is looked at every minute, and without a folder never', async (t) => {
  const { directory, log, write } = await createFolder(t)
  await write('a.txt', '198.51.100.0/24')
  const started: { ms: number; job: () => Promise<void> }[] = []
  const repeat = (ms: number, job: () => Promise<void>, name: string) => {
    started.push({ ms, job })
    return { name, failingForMs: undefined, soon() {}, stop() {} }
  }
  const metrics = createMetrics()
  const known = async () => (await metrics.dataCentreNetworks.get()).values[0]?.value
  const none = followDataCentres({ directory: undefined, log, metrics, repeat })
  assert.deepEqual([none.has('198.51.100.1'), none.size, started.length], [false, 0, 0])
  const some = followDataCentres({ directory, log, metrics, repeat })
  assert.deepEqual(
    started.map(({ ms }) => ms),
    [60_000],
  )
  await started[0]?.job()
  assert.deepEqual([some.has('198.51.100.1'), some.size, await known()], [true, 1, 1])
  await rm(join(directory, 'a.txt'))
  await started[0]?.job()
  assert.equal(await known(), 0)
})
