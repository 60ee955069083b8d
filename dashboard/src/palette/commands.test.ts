import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { House } from 'lucide-react'
import type { Page, Role } from '../page.ts'
import type { Me, Place } from '../session.ts'
import { commandsFor, found } from './commands.ts'
import { isPaletteKey, listedShortcuts, shortcutFor, type Around, type Pressed } from './shortcuts.ts'

const component = () => null
const nav = { group: 'build', order: 1, icon: House } as const
const PAGES: Page[] = [
  { scope: 'account', path: '', label: 'Account settings', component },
  { scope: 'project', path: '', label: 'Home', component, nav },
  { scope: 'project', path: 'keys', label: 'API keys', component, nav, keywords: 'secret credentials' },
  { scope: 'project', path: 'wallet', label: 'Wallet', component, nav },
  { scope: 'project', path: 'calls/$call', label: 'Call', component },
  { scope: 'advertiser', path: 'campaigns', label: 'Campaigns', component, nav },
  { scope: 'publisher', path: 'team', label: 'Team', component, nav },
  { scope: 'publisher', path: 'audit-log', label: 'Audit log', component, nav: { ...nav, role: 'admin' } },
]

function project(id: string, name: string) {
  return { id, name, domain: `${name.toLowerCase()}.example.com` }
}

const SHOP = { id: 'ad1', name: 'Lamp Works', domain: 'lamps.example.com', status: 'active', role: 'admin' } as const

function meAs(role: Role): { me: Me; place: Place } {
  const mine = { id: 'p1', name: 'Gazette', role, projects: [project('r', 'Recipes'), project('s', 'Sports')] }
  const theirs = { id: 'p2', name: 'Herald', role: 'viewer', projects: [project('c', 'Crosswords')] }
  const me = { publishers: [mine, theirs], advertisers: [SHOP] } as unknown as Me
  return { me, place: { publisher: me.publishers[0], project: me.publishers[0]?.projects[0] } }
}

function labels(role: Role, typed = '', pages = PAGES): string[] {
  const { me, place } = meAs(role)
  return found(commandsFor(me, place, pages), typed).flatMap(({ commands }) =>
    commands.map((each) => each.command.label),
  )
}

const ALWAYS = ['Light theme', 'Dark theme', 'System theme', 'Keyboard shortcuts', 'Sign out']

test('everybody is offered the pages, actions and projects that are theirs, and no more', () => {
  const pages = ['Home', 'API keys', 'Wallet', 'Team', 'Audit log', 'Account settings']
  const actions = ['New key pair…', 'Invite someone…', 'Top up…', 'Advertise', 'New project', ...ALWAYS]
  assert.deepEqual(labels('owner'), [...pages, ...actions, 'Sports', 'Crosswords', 'Lamp Works'])
  const developer = labels('developer')
  assert.ok(developer.includes('New key pair…'))
  for (const label of ['Invite someone…', 'Top up…', 'Audit log', 'New project'])
    assert.ok(!developer.includes(label), label)
  assert.ok(!labels('viewer').includes('New key pair…'))
  assert.ok(!labels('owner', '', PAGES.slice(0, 2)).includes('Top up…'), 'without its page')
})

test('somebody without a project is offered no page of one', () => {
  const { me } = meAs('owner')
  const bare = { ...me, publishers: me.publishers.slice(0, 1).map((each) => ({ ...each, projects: [] })) }
  const place = { publisher: bare.publishers[0], project: undefined }
  const offered = commandsFor(bare, place, PAGES).filter(({ group }) => group !== 'Actions')
  assert.deepEqual(
    offered.map(({ label }) => label),
    ['Team', 'Audit log', 'Account settings', 'Lamp Works'],
  )
})

test('on the pages of an advertiser its own are offered, and every project to go back to', () => {
  const { me, place } = meAs('owner')
  const offered = commandsFor(me, { ...place, advertiser: SHOP }, PAGES).filter(({ group }) => group !== 'Actions')
  assert.deepEqual(
    offered.map(({ label, deed }) => [label, deed]),
    [
      ['Campaigns', { to: '/advertisers/ad1/campaigns' }],
      ['Account settings', { to: '/account' }],
      ['Recipes', { project: 'r' }],
      ['Sports', { project: 's' }],
      ['Crosswords', { project: 'c' }],
    ],
  )
})

test('addresses are those of the project and publisher that one looks at', () => {
  const { me, place } = meAs('owner')
  const deedOf = (label: string) => commandsFor(me, place, PAGES).find((each) => each.label === label)?.deed
  assert.deepEqual(deedOf('API keys'), { to: '/projects/r/keys' })
  assert.deepEqual(deedOf('New key pair…'), { to: '/projects/r/keys', search: { open: 'new-key-pair' } })
  assert.deepEqual(deedOf('Invite someone…'), { to: '/publishers/p1/team', search: { open: 'invite' } })
  assert.deepEqual(deedOf('Crosswords'), { project: 'c' })
})

test('what is typed finds names first, then other words and the publisher; the best group comes first', () => {
  assert.deepEqual(labels('owner', 'keys'), ['API keys', 'Keyboard shortcuts'])
  assert.deepEqual(labels('owner', 'secret')[0], 'API keys')
  assert.deepEqual(labels('owner', 'herald'), ['Crosswords'])
  assert.deepEqual(labels('owner', 'crossw her'), ['Crosswords'])
  assert.deepEqual(labels('owner', 'cross gazette'), [])
  assert.equal(labels('owner', 'sp')[0], 'Sports')
  const { me, place } = meAs('owner')
  const [first] = found(commandsFor(me, place, PAGES), 'sign')
  assert.deepEqual([first?.group, first?.commands[0]?.at], ['Actions', [0, 1, 2, 3]])
})

const KEY: Pressed = { key: '', code: '', ctrlKey: false, metaKey: false, altKey: false, shiftKey: false }
const CALM: Around = { isTyping: false, isCovered: false, hasSingleKeys: true }

test('Ctrl-K and Cmd-K open the palette on any keyboard, / and ? do theirs, and other keys nothing', () => {
  assert.equal(shortcutFor({ ...KEY, key: 'k', ctrlKey: true }, CALM), 'palette')
  assert.equal(shortcutFor({ ...KEY, key: 'K', metaKey: true }, CALM), 'palette')
  assert.equal(shortcutFor({ ...KEY, key: 'л', code: 'KeyK', ctrlKey: true }, CALM), 'palette')
  assert.equal(isPaletteKey({ ...KEY, key: 't', code: 'KeyK', ctrlKey: true }), false, 'Dvorak has a T there')
  assert.equal(isPaletteKey({ ...KEY, key: 'k', ctrlKey: true, shiftKey: true }), false)
  assert.equal(shortcutFor({ ...KEY, key: 'k' }, CALM), undefined)
  assert.equal(shortcutFor({ ...KEY, key: '/' }, CALM), 'search')
  assert.equal(shortcutFor({ ...KEY, key: '/', shiftKey: true }, CALM), 'search')
  assert.equal(shortcutFor({ ...KEY, key: '?', shiftKey: true }, CALM), 'shortcuts')
  assert.equal(shortcutFor({ ...KEY, key: '/', ctrlKey: true }, CALM), undefined)
})

test('no key does anything while somebody types or a dialog is open; / and ? can be switched off', () => {
  const keys = [
    { ...KEY, key: 'k', ctrlKey: true },
    { ...KEY, key: '/' },
    { ...KEY, key: '?' },
  ]
  for (const key of keys) {
    assert.equal(shortcutFor(key, { ...CALM, isTyping: true }), undefined)
    assert.equal(shortcutFor(key, { ...CALM, isCovered: true }), undefined)
  }
  const off = keys.map((key) => shortcutFor(key, { ...CALM, hasSingleKeys: false }))
  assert.deepEqual(off, ['palette', undefined, undefined])
})

test('the documentation lists every shortcut that the dialog lists', () => {
  const docs = readFileSync(new URL('../../../docs/console.md', import.meta.url), 'utf8')
  for (const { keys, does } of listedShortcuts(false).flatMap(({ shortcuts }) => shortcuts))
    assert.ok(
      docs.includes(
        `| ${keys.join(' + ').replace('↑ + ↓', '↑ ↓')} | ${does.toLowerCase().slice(0, 1)}${does.slice(1)} |`,
      ),
      does,
    )
})
