import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderMail } from './mails.ts'

const invitation = { publisher: 'News', invitedBy: 'Ada', role: 'viewer', link: 'https://c.example/invitations' }

const LURE =
  'Pay\r\nBcc: x@evil.example\u2028<img src=x onerror=1> at evil.com now, or your account will be closed for good'

test('no name writes headers, paragraphs, markup, a link or a subject, in any mail', () => {
  const link = 'https://c.example/keys'
  const key = { key: LURE, project: LURE, by: LURE, link }
  const balance = { balance: '$1.00', threshold: '$2.00' }
  const mails = [
    renderMail('invitation', { ...invitation, publisher: LURE, invitedBy: LURE }),
    renderMail('key_created', key),
    renderMail('key_rolled', { ...key, oldEnds: 'is refused from now on' }),
    renderMail('key_deleted', key),
    renderMail('low_balance', { ...balance, project: LURE, link }),
  ]
  for (const { subject, text, html } of mails) {
    assert.match(subject, /^[\w ]+$/)
    assert.doesNotMatch(text, /^Bcc|evil\.|closed/m)
    assert.doesNotMatch(html, /<img|evil\.|closed/)
    assert.match(text, /"Pay Bcc x evil example img src x onerror…"/)
  }
})

test('a mail to an address that nobody has confirmed says nothing that a stranger typed', () => {
  const link = 'https://c.example/activate#token=abc'
  const strangers = { link, name: 'You won' } as { link: string }
  for (const template of ['activation', 'known_address'] as const)
    assert.doesNotMatch(JSON.stringify(renderMail(template, strangers)), /You won/)
})

test('the link is in the text and in the page, once to click and once to read', () => {
  const { text, html } = renderMail('invitation', invitation)
  assert.match(text, /^https:\/\/c\.example\/invitations$/m)
  assert.equal(html.split(invitation.link).length, 3)
})
