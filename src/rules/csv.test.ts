import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvOf } from './csv.ts'

test('no cell begins like a formula, and quotes and line breaks stay inside their cell', () => {
  const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx', 'a "quoted", b', 'two\nlines', null, 'plain']
  assert.equal(
    csvOf(['a'], [cells]),
    `a\r\n"'=1+1","'+1","'-1","'@SUM(A1)","'\tx","'\rx","a ""quoted"", b","two\nlines",,plain\r\n`,
  )
})
