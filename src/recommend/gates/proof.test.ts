import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { HEADS_PATH } from './heads.ts'
import { fingerprint, proofOf } from './proof.ts'

const directory = mkdtempSync(join(tmpdir(), 'parley-proof-'))
after(() => rmSync(directory, { recursive: true }))
const proofPath = pathToFileURL(join(directory, 'proof.json'))

test('gates that were shown to keep every sensitive prompt free are proven', () => {
  write({ fingerprint: fingerprint(), prompts: 500, shown: 0 })
  assert.deepEqual(proofOf(proofPath), { isProven: true, prompts: 500, shown: 0 })
})

test('one weight changed, and the proof is of other gates', () => {
  write({ fingerprint: fingerprint(), prompts: 500, shown: 0 })
  const headsPath = pathToFileURL(join(directory, 'heads.json'))
  copyFileSync(HEADS_PATH, headsPath)
  assert.ok(proofOf(proofPath, headsPath).isProven)
  writeFileSync(headsPath, readFileSync(HEADS_PATH, 'utf8').replace(/"bias": (-?\d)/, '"bias": 1$1'))
  const proof = proofOf(proofPath, headsPath)
  assert.ok(!proof.isProven)
  assert.match(proof.why ?? '', /changed/)
})

test('one recommendation shown, too few prompts, a broken file or none: not proven, and it says why', () => {
  const current = fingerprint()
  for (const [content, why] of [
    [{ fingerprint: current, prompts: 500, shown: 1 }, /1 of 500/],
    [{ fingerprint: current, prompts: 499, shown: 0 }, /Fewer than 500/],
    [{ fingerprint: current, shown: 0 }, /Fewer than 500/],
    [{ fingerprint: current, prompts: 500 }, /NaN of 500/],
    [{ prompts: 500, shown: 0 }, /never/],
    [null, /never/],
  ] as const) {
    write(content)
    const proof = proofOf(proofPath)
    assert.ok(!proof.isProven, JSON.stringify(content))
    assert.match(proof.why ?? '', why)
  }
  writeFileSync(proofPath, '{"fingerprint')
  assert.ok(!proofOf(proofPath).isProven)
  assert.ok(!proofOf(pathToFileURL(join(directory, 'nowhere.json'))).isProven)
})

function write(content: unknown): void {
  writeFileSync(proofPath, JSON.stringify(content))
}
