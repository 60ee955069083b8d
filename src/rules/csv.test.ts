import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvOf } from './csv.ts'

test('no cell begins like a formula, and quotes and line breaks stay inside their cell', () => {
  const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\tx', ' =1', 'a "quoted", b', 'two\nlines', null, 'plain']
  assert.equal(
    csvOf(['a'], [cells]),
    `a\r\n"'=1+1","'+1","'-1","'@SUM(A1)","'\tx","' =1","a ""quoted"", b","two\nlines",,plain\r\n`,
  )
})

test('nor does a part of it that a spreadsheet with other separators takes for a cell', () => {
  assert.equal(
    csvOf(['Lamp;=1+2', 'Lamp; \uff1d1', 'a\t@x', 'Lamp; red'], []),
    `"Lamp;'=1+2","Lamp; '\uff1d1","a\t'@x",Lamp; red\r\n`,
  )
})

test('a formula is one in full width too, and after what nobody sees', () => {
  for (const cell of ['＝1', '＋1', '－1', '＠x', '﹦1', '\u3000=1', '\u00a0＝1'])
    assert.equal(csvOf([cell], []), `"'${cell}"\r\n`)
  assert.equal(csvOf(['\u200b=1', '\u202e=1', '\r=1', 'a\r\nb'], []), '\ufffd=1,\ufffd=1,\ufffd=1,"a\nb"\r\n')
})
