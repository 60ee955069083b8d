import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderMail } from './mails.ts'

const invitation = { publisher: 'News', invitedBy: 'Ada', role: 'viewer', link: 'https://c.example/invitations' }

test('a name cannot write headers, paragraphs or markup of its own', () => {
  const mail = renderMail('invitation', {
    ...invitation,
    invitedBy: 'Ada\r\nBcc: x@evil.example\u2028<img src=x onerror=1>',
  })
  assert.doesNotMatch(mail.subject, /[\r\n]/)
  assert.doesNotMatch(mail.text, /^Bcc/m)
  assert.doesNotMatch(mail.html, /<img/)
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
