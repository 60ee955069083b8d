import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameProblemOf, personNameProblemOf, quoted } from './names.ts'

const LURES = [
  'Parley Billing. Card declined, fix at parley-billing.com/pay',
  'URGENT www.parley-billing.example',
  'acme.com',
  'ACME.CO.UK',
  'acme。com',
  'acme．com',
  'acme｡com',
  'acme․com',
  'ａｃｍｅ.ｃｏｍ',
  'acme\u200b.com',
  'acme.c\u00adom',
  'аcme.com',
  'пример.рф',
  'xn--e1afmkfd.xn--p1ai',
  'see acme.com-news',
  'acme.zip',
  'https:evil',
  'see https://evil.example',
  'hxxp://evil',
  'mailto:a',
  'Call tel:+15550100',
  'billing@parley',
  'billing＠parley',
  'go to 192.0.2.7 now',
]

test('nothing that a mail program turns into a link is a name, however it is spelled', () => {
  for (const lure of LURES) assert.match(nameProblemOf(lure) ?? '', /web or email address/, lure)
})

test('names of people and companies are names', () => {
  for (const name of [
    'Ada Lovelace',
    'J.R.R. Tolkien',
    'J.Crew',
    'St. John & Sons, Inc.',
    'Node.js Weekly',
    'Yahoo! News',
    'Müller & Söhne GmbH',
    'Dr. Müller',
    'خبرگزاری‌ها',
    '日本放送。ニュース',
    'Recipes 2.0',
    'Project: Blue',
    '👩‍💻 Ada',
    'Acme™',
  ])
    assert.equal(nameProblemOf(name), undefined, name)
})

test('what cannot be seen or turns text around is no name', () => {
  for (const name of ['two\nlines', 'right \u202eto left', 'a\u2028b', '\u0000'])
    assert.match(nameProblemOf(name) ?? '', /can be seen/)
})

test('a name has 1 to 100 characters', () => {
  assert.match(nameProblemOf('') ?? '', /Enter a name/)
  assert.match(nameProblemOf('x'.repeat(101)) ?? '', /At most 100 characters/)
  assert.equal(nameProblemOf('x'.repeat(100)), undefined)
})

test('in a mail a name is quoted and cut, closes no quote of ours, and an older one leads nowhere', () => {
  assert.equal(quoted('Ada Lovelace'), '"Ada Lovelace"')
  assert.equal(quoted('x'.repeat(41)), `"${'x'.repeat(40)}…"`)
  assert.equal(quoted('J. '.repeat(50)), `"${'J. '.repeat(13)}J…"`)
  assert.equal(quoted('👩'.repeat(41)), `"${'👩'.repeat(40)}…"`)
  assert.equal(quoted('Ada" has paid. “Bob'), `"Ada' has paid. 'Bob"`)
  for (const lure of LURES) assert.equal(nameProblemOf(quoted(lure)), undefined, quoted(lure))
})

test('nobody is called as the audit log calls those who are no person', () => {
  for (const name of ['operator', 'Parley', ' PARLEY ', 'Ｏｐｅｒａｔｏｒ', 'opera\u200btor'])
    assert.equal(personNameProblemOf(name), 'Enter your own name.', name)
  for (const name of ['Olga Operator', 'Charlie Parley', 'Ada'])
    assert.equal(personNameProblemOf(name), undefined, name)
  assert.match(personNameProblemOf('see acme.com') ?? '', /web or email address/)
})
