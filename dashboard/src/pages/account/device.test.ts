import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceOf } from './device.ts'

test('a device is named by its browser and system, although each pretends to be another', () => {
  const gecko = 'Mozilla/5.0'
  for (const [agent, name] of [
    [`${gecko} (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0`, 'Firefox on macOS'],
    [`${gecko} (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0`, 'Edge on Windows'],
    [`${gecko} (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 OPR/120.0`, 'Opera on Windows'],
    [`${gecko} (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36`, 'Chrome on Android'],
    [`${gecko} (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36`, 'Chrome on Linux'],
    [`${gecko} (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1`, 'Safari on iOS'],
    ['curl/8.0 (Windows)', 'Windows'],
    ['node', 'Unknown device'],
    [null, 'Unknown device'],
  ] as const)
    assert.equal(deviceOf(agent), name)
})
