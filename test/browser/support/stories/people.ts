import type { Scene } from '../page-picture.ts'
import { meWith } from '../replies/account.ts'
import { conflict, copied, downloaded, fill, inDialog, ofPublisher, pick, press, proofNeeded, wrong } from './steps.ts'

const ACCOUNT = '/account'
const TEAM = ofPublisher('/team')
const WITH_CODES = meWith({ user: { twoFactorEnabled: true } })
const PASSWORD = 'a long enough password'
const ONCE_PROVEN = {
  'POST /api/me/password': ({ earlier }: { earlier: number }) => (earlier === 0 ? proofNeeded : done()),
}

function done() {
  return { done: true } as const
}

const PROFILE: Record<string, Scene> = {
  'a new name': {
    path: ACCOUNT,
    act: async (page) => {
      await fill(page, { Name: 'Ada K.' })
      await press(page, 'Save')
    },
  },
  'no name': {
    path: ACCOUNT,
    act: async (page) => {
      await fill(page, { Name: '' })
      await press(page, 'Save')
    },
  },
  'a name that is refused': {
    path: ACCOUNT,
    replies: { 'PATCH /api/me': wrong('name') },
    act: async (page) => {
      await fill(page, { Name: 'Ada\u202e' })
      await press(page, 'Save')
    },
  },
  'a password that is shown': {
    path: ACCOUNT,
    act: async (page) => {
      await fill(page, { 'New password': 'short' })
      await press(page, 'Show the password', 'Change password')
    },
  },
  'a new password': {
    path: ACCOUNT,
    act: async (page) => {
      await fill(page, { 'New password': PASSWORD })
      await press(page, 'Change password')
    },
  },
  'a new password that is refused': {
    path: ACCOUNT,
    replies: { 'POST /api/me/password': wrong('newPassword') },
    act: async (page) => {
      await fill(page, { 'New password': PASSWORD })
      await press(page, 'Change password')
    },
  },
  'a change that needs a proof, and the proof': {
    path: ACCOUNT,
    replies: ONCE_PROVEN,
    act: async (page) => {
      await fill(page, { 'New password': PASSWORD })
      await press(page, 'Change password')
      await inDialog(page, 'Continue', { 'Your password': 'my old password' })
    },
  },
  'a proof with a code, which is refused': {
    path: ACCOUNT,
    replies: { ...ONCE_PROVEN, ...WITH_CODES, 'POST /api/me/proof': wrong('code') },
    act: async (page) => {
      await fill(page, { 'New password': PASSWORD })
      await press(page, 'Change password')
      await inDialog(page, 'Continue', { 'Your password': 'my old password', 'Six digits from your app': '123 456' })
    },
  },
  'a proof that is not given': {
    path: ACCOUNT,
    replies: ONCE_PROVEN,
    act: async (page) => {
      await fill(page, { 'New password': PASSWORD })
      await press(page, 'Change password')
      await inDialog(page, 'Cancel')
    },
  },
}

const SECOND_FACTOR: Record<string, Scene> = {
  'two-factor sign-in, asked for': { path: ACCOUNT, act: (page) => press(page, 'Turn on') },
  'two-factor sign-in that cannot begin': {
    path: ACCOUNT,
    replies: { 'POST /api/me/two-factor': conflict },
    act: async (page) => {
      await press(page, 'Turn on')
      await inDialog(page, 'Continue')
    },
  },
  'two-factor sign-in, with a wrong code': {
    path: ACCOUNT,
    replies: { 'POST /api/me/two-factor/confirm': wrong('code') },
    act: async (page) => {
      await press(page, 'Turn on')
      await inDialog(page, 'Continue')
      await inDialog(page, 'Turn on', { 'Six digits from the app': '654 321' })
    },
  },
  'two-factor sign-in, turned on': {
    path: ACCOUNT,
    act: async (page) => {
      await press(page, 'Turn on')
      await inDialog(page, 'Continue')
      await inDialog(page, 'Turn on', { 'Six digits from the app': '123 456' })
      await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
      return copied(page, 'Copy all codes')
    },
  },
  'recovery codes that are stored': {
    path: ACCOUNT,
    replies: WITH_CODES,
    act: async (page) => {
      await press(page, 'New recovery codes')
      await inDialog(page, 'Create new codes')
      const file = await downloaded(page, () => press(page, 'Download'))
      await page.getByRole('checkbox').click()
      await inDialog(page, 'Done')
      return file
    },
  },
  'two-factor sign-in, turned off': {
    path: ACCOUNT,
    replies: WITH_CODES,
    act: async (page) => {
      await press(page, 'Turn off')
      await inDialog(page, 'Turn off')
    },
  },
  'two-factor sign-in that cannot be turned off': {
    path: ACCOUNT,
    replies: { ...WITH_CODES, 'POST /api/me/two-factor/disable': conflict },
    act: async (page) => {
      await press(page, 'Turn off')
      await inDialog(page, 'Turn off')
    },
  },
}

const DEVICES: Record<string, Scene> = {
  'a passkey, before the browser is asked': { path: ACCOUNT, act: (page) => press(page, 'Add passkey') },
  'a passkey with another name': {
    path: ACCOUNT,
    act: async (page) => {
      await pick(page, 'Actions for Phone', 'Rename…')
      await inDialog(page, 'Rename', { Name: 'Old phone' })
    },
  },
  'a passkey whose name is refused': {
    path: ACCOUNT,
    replies: { 'PATCH /api/me/passkeys/:passkey': wrong('name') },
    act: async (page) => {
      await pick(page, 'Actions for Yellow key', 'Rename…')
      await inDialog(page, 'Rename')
    },
  },
  'a passkey that is removed': {
    path: ACCOUNT,
    act: async (page) => {
      await pick(page, 'Actions for Yellow key', 'Remove…')
      await inDialog(page, 'Remove passkey')
    },
  },
  'a session that is ended': { path: ACCOUNT, act: (page) => press(page, 'Sign out Safari on iOS') },
  'a session that cannot be ended': {
    path: ACCOUNT,
    replies: { 'DELETE /api/me/sessions/:session': conflict },
    act: (page) => press(page, 'Sign out Unknown device'),
  },
  'all other sessions': { path: ACCOUNT, act: (page) => press(page, 'Sign out everywhere else') },
  'an account, before its address is typed': { path: ACCOUNT, act: (page) => press(page, 'Delete account') },
  'an account that is deleted': {
    path: ACCOUNT,
    act: async (page) => {
      await press(page, 'Delete account')
      await inDialog(page, 'Delete account', { 'Type ada@example.com to confirm': 'ada@example.com' })
    },
  },
  'an account that cannot be deleted': {
    path: ACCOUNT,
    replies: { 'POST /api/me/delete': conflict },
    act: async (page) => {
      await press(page, 'Delete account')
      await inDialog(page, 'Delete account', { 'Type ada@example.com to confirm': ' ada@example.com ' })
    },
  },
}

const MEMBERS: Record<string, Scene> = {
  'an invitation, before it is sent': {
    path: TEAM,
    act: async (page) => {
      await press(page, 'Invite')
      await inDialog(page, 'Send invitation')
    },
  },
  'an invitation': {
    path: TEAM,
    act: async (page) => {
      await press(page, 'Invite')
      await page.getByRole('dialog').getByLabel('Role').selectOption('admin')
      await inDialog(page, 'Send invitation', { Email: 'gil@example.com' })
    },
  },
  'an invitation that is refused': {
    path: TEAM,
    replies: { 'POST /api/publishers/:publisher/invitations': conflict },
    act: async (page) => {
      await press(page, 'Invite')
      await inDialog(page, 'Send invitation', { Email: 'ada@example.com' })
    },
  },
  'an invitation to no address': {
    path: TEAM,
    act: async (page) => {
      await press(page, 'Invite')
      await inDialog(page, 'Send invitation', { Email: 'nobody' })
    },
  },
  'an invitation by an admin': {
    path: TEAM,
    replies: meWith({ publisher: { role: 'admin' } }),
    act: (page) => press(page, 'Invite'),
  },
  'an invitation that is withdrawn': {
    path: TEAM,
    act: (page) => press(page, 'Withdraw the invitation to finn@example.com'),
  },
  'an invitation that cannot be withdrawn': {
    path: TEAM,
    replies: { 'DELETE /api/publishers/:publisher/invitations/:invitation': conflict },
    act: (page) => press(page, 'Withdraw the invitation to eve@example.com'),
  },
  'what can be done with a member': { path: TEAM, act: (page) => press(page, 'Actions for Bea Ford') },
  'what an admin can do with a member': {
    path: TEAM,
    replies: meWith({ publisher: { role: 'admin' } }),
    act: (page) => press(page, 'Actions for Cem Aksoy'),
  },
  'what a viewer can do with themselves': {
    path: TEAM,
    replies: meWith({ publisher: { role: 'viewer' } }),
    act: (page) => press(page, 'Actions for Ada Keller'),
  },
  'a member with another role': { path: TEAM, act: (page) => pick(page, 'Actions for Cem Aksoy', 'admin') },
  'a member whose role cannot be changed': {
    path: TEAM,
    replies: { 'PATCH /api/publishers/:publisher/members/:member': conflict },
    act: (page) => pick(page, 'Actions for Ada Keller', 'viewer'),
  },
  'a member, before they are removed': { path: TEAM, act: (page) => pick(page, 'Actions for Dana Wolf', 'Remove') },
  'a member who is removed': {
    path: TEAM,
    act: async (page) => {
      await pick(page, 'Actions for Dana Wolf', 'Remove')
      await inDialog(page, 'Remove')
    },
  },
  'oneself, who leaves': {
    path: TEAM,
    act: async (page) => {
      await pick(page, 'Actions for Ada Keller', 'Leave')
      await inDialog(page, 'Leave')
    },
  },
  'the last owner, who cannot leave': {
    path: TEAM,
    replies: { 'POST /api/publishers/:publisher/leave': conflict },
    act: async (page) => {
      await pick(page, 'Actions for Ada Keller', 'Leave')
      await inDialog(page, 'Leave')
    },
  },
}

export const PEOPLE: Record<string, Scene> = { ...PROFILE, ...SECOND_FACTOR, ...DEVICES, ...MEMBERS }
