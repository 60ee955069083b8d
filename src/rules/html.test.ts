import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeHtml } from './html.ts'

test('a text neither opens a tag, nor ends an attribute, nor is taken for an entity', () => {
  assert.equal(
    escapeHtml(`<b class="x" id='y'>Tom & Jerry &lt;`),
    '&#60;b class=&#34;x&#34; id=&#39;y&#39;&#62;Tom &#38; Jerry &#38;lt;',
  )
  assert.equal(escapeHtml('größer, 10 €, 🙂'), 'größer, 10 €, 🙂')
})
