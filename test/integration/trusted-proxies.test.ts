import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { createConsoleWorld, must, newPerson, openBrowser, PASSWORD, type ConsoleWorld } from '../support/console.ts'

/** Throttles count by the address of a request, and the audit log keeps it, so only a listed proxy may say it. */

let alone: ConsoleWorld
let behindProxies: ConsoleWorld

before(async () => {
  const roles: ['console', 'worker'] = ['console', 'worker']
  alone = await createConsoleWorld({ env: { PARLEY_TRUSTED_PROXIES: '' }, roles })
  behindProxies = await createConsoleWorld({ env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1, 10.20.0.0/16' }, roles })
})
after(async () => {
  await alone.close()
  await behindProxies.close()
})

async function addressSeen(world: ConsoleWorld, forwardedFor: string): Promise<string> {
  const person = await newPerson(world)
  const body = { email: person.email, password: PASSWORD }
  await must(person.send('POST /api/auth/sign-in/email', { body, headers: { 'x-forwarded-for': forwardedFor } }))
  const { items } = (await must(person.send('GET /api/me/sessions'))).body
  return items.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent).ip
}

test('by default nobody is believed about X-Forwarded-For, not even this machine: whoever writes another each time is one', async () => {
  const statuses: number[] = []
  for (let n = 1; n <= 11; n++) {
    const body = { email: `nobody${n}@example.com`, password: PASSWORD }
    statuses.push((await openBrowser(alone, `203.0.113.${n}`).send('POST /api/auth/sign-in/email', { body })).status)
  }
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429])
})

test('a proxy that is not listed is named in the log, once', async () => {
  await openBrowser(alone).send('GET /api/me')
  const lines = alone.logs.filter((line) => line.includes('X-Forwarded-For is ignored'))
  assert.equal(lines.length, 1)
  assert.match(String(lines[0]), /"proxy":"127\.0\.0\.1"/)
  assert.ok(!behindProxies.logs.some((line) => line.includes('X-Forwarded-For is ignored')))
})

test('proxies that are listed are believed, up to the first address that is none of them', async () => {
  assert.equal(await addressSeen(behindProxies, '203.0.113.5'), '203.0.113.5')
  assert.equal(await addressSeen(behindProxies, '203.0.113.5, 10.20.3.4'), '203.0.113.5')
  assert.equal(await addressSeen(behindProxies, '198.51.100.66, 203.0.113.5'), '203.0.113.5')
  assert.equal(await addressSeen(behindProxies, '198.51.100.66, 10.21.0.1'), '10.21.0.1')
})

test('what is no address or network, or every address there is, is refused at the start', () => {
  const env = {
    DATABASE_URL: 'postgres://x',
    PARLEY_SECRET: Buffer.from(Array.from({ length: 32 }, (_, n) => n)).toString('base64'),
  }
  const read = (text: string) => readConfig({ ...env, PARLEY_TRUSTED_PROXIES: text }).PARLEY_TRUSTED_PROXIES
  assert.deepEqual(read('10.0.0.5,  fd00::/8,172.16.0.0/12,::1'), ['10.0.0.5', 'fd00::/8', '172.16.0.0/12', '::1'])
  assert.deepEqual(readConfig(env).PARLEY_TRUSTED_PROXIES, [])
  for (const text of [
    'loopback',
    'proxy.internal',
    '10.0.0.0/33',
    '10.1',
    '0x7f.0.0.1',
    '10.0.0.5;10.0.0.6',
    '0.0.0.0/0',
    '::/0',
    ',',
  ])
    assert.throws(() => read(text), /PARLEY_TRUSTED_PROXIES/, text)
  for (const text of ['0.0.0.0/0', '10.0.0.5,::/0']) assert.throws(() => read(text), /would believe everyone/, text)
})
