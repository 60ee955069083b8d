import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicAddress, networkOf } from './addresses.ts'

const REFUSED = [
  `127.0.0.1 127.1.2.3 0.0.0.0 0.1.2.3 255.255.255.255 224.0.0.1 240.0.0.1
  10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.1.1 100.64.0.1 100.127.255.255
  192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1`,
  // Metadata of AWS and GCP, Azure, Alibaba, Oracle, and of AWS over IPv6.
  '169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254',
  // Forms that only some programs take for an address.
  '0 127.1 2130706433 0x7f.1 0x7f000001 0177.0.0.1 127.0.0.01 127.0.0.1. [::1] 2606:4700::1%eth0 localhost example.com',
  `:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:8.8.8.8 0:0:0:0:0:ffff:a9fe:a9fe
  64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::1 2002:7f00:1:: 2002:a9fe:a9fe::1 2001::1 2001:0:1::1
  2001:db8::1 3fff::1 2001:10::1 2001:20::1 100::1 fe80::1 fe80::1%eth0 fec0::1 fc00::1 fd12:3456::1 ff02::1 5f00::1
  4000::1 1::1`,
]
  .flatMap((some) => some.split(/\s+/))
  .concat('', ' 127.0.0.1', '127.0.0.1\n')

test('no address leads to a machine of ours: private, reserved, mapped, translated, metadata or oddly written', () => {
  assert.ok(REFUSED.length > 50)
  for (const address of REFUSED) assert.equal(isPublicAddress(address), false, address)
})

test('public addresses are public', () => {
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '93.184.216.34',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '2a00:1450::1',
  ])
    assert.equal(isPublicAddress(address), true, address)
})

test('an IPv6 customer is counted as one, and an IPv4 address is the same however it is written', () => {
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2::1'))
  assert.notEqual(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'))
  assert.equal(networkOf('::ffff:203.0.113.7'), networkOf('203.0.113.7'))
  assert.notEqual(networkOf('203.0.113.7'), networkOf('203.0.113.8'))
})
