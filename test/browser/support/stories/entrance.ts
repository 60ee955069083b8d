import { ParleyError } from '../../../../src/rules/errors.ts'
import type { Scene } from '../page-picture.ts'
import { meWith } from '../replies/account.ts'
import { OTHER_PUBLISHER } from '../replies/ids.ts'
import { at, conflict, fill, press, wrong } from './steps.ts'

const WHO = { Email: 'ada@example.com', Password: 'my password' }
const TOKEN = `x.${Buffer.from('{"email":"ada@example.com"}').toString('base64url')}.y`
const NEW_ACCOUNT = {
  'Your name': 'Gil',
  Publisher: ' ',
  Email: 'gil@example.com',
  Password: 'a long enough password',
}

export const ENTRANCE: Record<string, Scene> = {
  'signing in to where the link led': {
    path: `/sign-in?next=${encodeURIComponent(at('/keys'))}`,
    act: async (page) => {
      await fill(page, WHO)
      await press(page, 'Sign in')
      await page.getByRole('heading', { name: 'API keys' }).waitFor()
    },
  },
  'signing in without anything': { path: '/sign-in', act: (page) => press(page, 'Sign in') },
  'signing in with a wrong password': {
    path: '/sign-in',
    replies: { 'POST /api/auth/sign-in/email': new ParleyError('sign_in_failed') },
    act: async (page) => {
      await fill(page, WHO)
      await press(page, 'Sign in')
    },
  },
  'signing in with a code': {
    path: '/sign-in',
    replies: { 'POST /api/auth/sign-in/email': { twoFactor: true } },
    act: async (page) => {
      await fill(page, WHO)
      await press(page, 'Sign in')
      await fill(page, { Code: '123 456' })
      await press(page, 'Continue')
      await page.getByRole('heading', { name: 'Home' }).waitFor()
    },
  },
  'signing in with a recovery code that is refused': {
    path: '/sign-in',
    replies: {
      'POST /api/auth/sign-in/email': { twoFactor: true },
      'POST /api/auth/two-factor/verify-backup-code': wrong('code'),
    },
    act: async (page) => {
      await fill(page, WHO)
      await press(page, 'Sign in', 'Use a recovery code instead')
      await fill(page, { 'Recovery code': ' aaaaa-11111 ' })
      await press(page, 'Continue')
    },
  },
  'signing in as somebody else': {
    path: '/sign-in',
    replies: { 'POST /api/auth/sign-in/email': { twoFactor: true } },
    act: async (page) => {
      await fill(page, WHO)
      await press(page, 'Sign in', 'Use a different account')
    },
  },
  'signing up': {
    path: '/sign-up',
    act: async (page) => {
      await fill(page, { ...NEW_ACCOUNT, Publisher: 'Gil & Sons' })
      await press(page, 'Create account')
      await page.getByRole('heading', { name: 'Check your email' }).waitFor()
    },
  },
  'signing up without a publisher, refused': {
    path: '/sign-up',
    replies: { 'POST /api/auth/sign-up/email': wrong('email') },
    act: async (page) => {
      await fill(page, NEW_ACCOUNT)
      await press(page, 'Create account')
    },
  },
  'signing up without anything': { path: '/sign-up', act: (page) => press(page, 'Create account') },
  'another mail, a minute later': {
    path: '/check-mail?email=gil@example.com',
    act: async (page) => {
      await page.evaluate(
        '(async () => { for (let n = 0; n < 60; n += 1) { parleyTimers.pass(1000); await parleyTimers.idle() } })()',
      )
      await press(page, 'Send again')
    },
  },
  'a link for a new password': {
    path: '/forgot-password',
    act: async (page) => {
      await fill(page, { Email: ' ada@example.com ' })
      await press(page, 'Send link')
    },
  },
  'a link for a new password that is refused': {
    path: '/forgot-password',
    replies: {
      'POST /api/auth/request-password-reset': new ParleyError('too_many_attempts', { retryAfterSeconds: 60 }),
    },
    act: async (page) => {
      await fill(page, { Email: 'ada@example.com' })
      await press(page, 'Send link')
    },
  },
  'a new password by a link': {
    path: '/reset-password#token=abc',
    act: async (page) => {
      await fill(page, { 'New password': 'a long enough password' })
      await press(page, 'Change password')
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    },
  },
  'a new password by a link that has ended': {
    path: '/reset-password#token=abc',
    replies: { 'POST /api/auth/reset-password': conflict },
    act: async (page) => {
      await fill(page, { 'New password': 'a long enough password' })
      await press(page, 'Change password')
    },
  },
  'an address that is confirmed': {
    path: `/activate#token=${TOKEN}`,
    act: async (page) => {
      await fill(page, { Password: 'my password' })
      await press(page, 'Confirm address')
    },
  },
  'an address that is confirmed with another password, and waits': {
    path: `/activate#token=${TOKEN}`,
    replies: { 'POST /api/auth/verify-email': { activated: false } },
    act: async (page) => {
      await press(page, 'I did not sign up, or forgot the password')
      await fill(page, { 'New password': 'a long enough password' })
      await press(page, 'Set password and confirm')
    },
  },
  'an address that is not confirmed, with the way back': {
    path: `/activate#token=${TOKEN}`,
    replies: { 'POST /api/auth/verify-email': wrong('password') },
    act: async (page) => {
      await press(page, 'I did not sign up, or forgot the password', 'I know the password')
      await fill(page, { Password: 'wrong' })
      await press(page, 'Confirm address')
    },
  },
  'a new project': {
    path: '/new-project',
    act: async (page) => {
      await page.getByLabel('Publisher').selectOption(OTHER_PUBLISHER)
      await fill(page, { Name: 'Weather', Domain: 'weather.example.net' })
      await press(page, 'Create project')
      await page.getByRole('heading', { name: 'Home' }).waitFor()
    },
  },
  'a new project without anything': { path: '/new-project', act: (page) => press(page, 'Create project') },
  'a new project whose domain is refused': {
    path: '/new-project',
    replies: { 'POST /api/publishers/:publisher/projects': wrong('domain') },
    act: async (page) => {
      await fill(page, { Name: 'Weather', Domain: 'localhost' })
      await press(page, 'Create project')
    },
  },
  'an invitation that is accepted': {
    path: '/invitations',
    act: async (page) => {
      await page.getByRole('button', { name: 'Accept' }).nth(1).click()
      await page.getByRole('heading', { name: 'Home' }).waitFor()
    },
  },
  'an invitation that is declined': { path: '/invitations', act: (page) => press(page, 'Decline') },
  'an invitation that cannot be accepted': {
    path: '/invitations',
    replies: { 'POST /api/me/invitations/:invitation/accept': conflict },
    act: (page) => press(page, 'Accept'),
  },
  'the mail of the banner, once more': {
    path: '/account',
    replies: meWith({ user: { emailVerified: false } }),
    act: (page) => press(page, 'Send again'),
  },
  'the mail of the banner, too often': {
    path: '/account',
    replies: {
      ...meWith({ user: { emailVerified: false } }),
      'POST /api/auth/send-verification-email': new ParleyError('too_many_attempts'),
    },
    act: (page) => press(page, 'Send again'),
  },
}
