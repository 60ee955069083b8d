import { escapeHtml } from '../html.ts'
import { quoted } from './names.ts'

/**
 * The mails that Parley sends. Plain sentences, one link, and nothing that is loaded from anywhere. A subject is always the
 * same, and names that others have chosen are quoted: a mail must not say what the person who caused it wants said. The name
 * of a domain is the one exception, because the mail says nothing without it; only owners of the project's publisher get
 * those mails.
 */

export interface MailData {
  /** Without a name, like all mails to one person: whoever typed the address may have typed anything beside it. */
  activation: { link: string }
  known_address: { link: string }
  password_reset: { link: string }
  password_changed: { link: string }
  passkey_added: { link: string }
  invitation: { publisher: string; invitedBy: string; role: string; link: string }
  domain_verified: { domain: string; link: string }
  domain_failing: { domain: string; lapsesOn: string; link: string }
  domain_lapsed: { domain: string; link: string }
  key_created: KeyMail
  key_rolled: KeyMail & { oldEnds: string }
  key_deleted: KeyMail
  low_balance: { project: string; balance: string; threshold: string; link: string }
  top_up_failed: { project: string; amount: string; reason: string; isPaused: boolean; link: string }
  alert_opened: AlertMail
  alert_closed: AlertMail
  webhook_off: { project: string; link: string }
}

interface AlertMail {
  project: string
  /** The name of the rule; the sentence says what has happened. */
  alert: string
  sentence: string
  link: string
}

interface KeyMail {
  key: string
  project: string
  by: string
  link: string
}

export type MailTemplate = keyof MailData

export interface RenderedMail {
  subject: string
  text: string
  html: string
}

interface Letter {
  before: string[]
  action: string
  after: string[]
}

/** Apart from the letters, so that none can be made of what somebody wrote. */
const SUBJECTS: Record<MailTemplate, string> = {
  activation: 'Confirm your address',
  known_address: 'You already have an account',
  password_reset: 'Set a new password',
  password_changed: 'Your password was changed',
  passkey_added: 'A passkey was added to your account',
  invitation: 'You are invited to a team on Parley',
  domain_verified: 'Your domain is verified',
  domain_failing: 'We can no longer verify your domain',
  domain_lapsed: 'Calls for your domain are refused',
  key_created: 'New key pair',
  key_rolled: 'A key pair was replaced',
  key_deleted: 'A key pair was deleted',
  low_balance: 'Your balance is low',
  top_up_failed: 'An automatic top-up failed',
  alert_opened: 'A project needs your attention',
  alert_closed: 'An alert is over',
  webhook_off: 'A webhook endpoint was switched off',
}

const LETTERS: { [Template in MailTemplate]: (data: MailData[Template]) => Letter } = {
  activation: () => ({
    before: [
      'Hello,',
      'Confirm your address to activate your Parley account. You will be asked for your password, and can set a new one. The link works for one day.',
    ],
    action: 'Confirm my address',
    after: [
      'If you did not sign up, someone else entered your address. Ignore this email, or set your own password there: theirs stops working.',
    ],
  }),
  known_address: () => ({
    before: [
      'Hello,',
      'Someone, probably you, tried to sign up with this address. It already has an account: sign in, or reset your password there.',
    ],
    action: 'Sign in',
    after: ['If it was not you, ignore this email: nothing has changed.'],
  }),
  password_reset: () => ({
    before: ['Hello,', 'You can set a new password here. The link works once, and for one hour.'],
    action: 'Set a new password',
    after: ['If you did not ask for this, ignore this email: your password stays as it is.'],
  }),
  password_changed: () => ({
    before: ['Hello,', 'Your password was changed and you were signed out everywhere else.'],
    action: 'Sign in',
    after: ['If it was not you, reset your password on the sign-in page right away.'],
  }),
  passkey_added: () => ({
    before: ['Hello,', 'A passkey was added to your account. It signs you in without your password.'],
    action: 'See your passkeys',
    after: ['If it was not you, remove it there, set a new password and sign out everywhere else.'],
  }),
  invitation: ({ publisher, invitedBy, role }) => ({
    before: [
      'Hello,',
      `${quoted(invitedBy)} invites you to join ${quoted(publisher)} on Parley as ${role}. Sign in, or sign up, with this address to accept. The invitation is open for seven days.`,
    ],
    action: 'Open the invitation',
    after: ['If you do not know them, ignore this email.'],
  }),
  domain_verified: ({ domain }) => ({
    before: ['Hello,', `${domain} is verified. Calls of its project are now answered.`],
    action: 'Open the domain page',
    after: ['Leave the proof where it is: Parley looks for it every day.'],
  }),
  domain_failing: ({ domain, lapsesOn }) => ({
    before: [
      'Hello,',
      `Parley can no longer find the proof that ${domain} is yours. Calls are answered until ${lapsesOn}; after that they are refused.`,
    ],
    action: 'See what is missing',
    after: ['Put the DNS record or the file back before then; nothing else is needed.'],
  }),
  domain_lapsed: ({ domain }) => ({
    before: [
      'Hello,',
      `The proof that ${domain} is yours was missing for seven days, so calls are now refused with status 403.`,
    ],
    action: 'See what is missing',
    after: [
      'Put the DNS record or the file back and check it on that page: calls are then answered again immediately.',
    ],
  }),
  key_created: ({ key, project, by }) => ({
    before: ['Hello,', `${quoted(by)} created the key pair ${quoted(key)} for the project ${quoted(project)}.`],
    action: 'See the key pairs',
    after: ['If none of you did this, delete the pair there and sign everyone out.'],
  }),
  key_rolled: ({ key, project, by, oldEnds }) => ({
    before: [
      'Hello,',
      `${quoted(by)} replaced the key pair ${quoted(key)} of the project ${quoted(project)}. The old pair ${oldEnds}.`,
    ],
    action: 'See the key pairs',
    after: ['If none of you did this, delete the pair there and sign everyone out.'],
  }),
  key_deleted: ({ key, project, by }) => ({
    before: [
      'Hello,',
      `${quoted(by)} deleted the key pair ${quoted(key)} of the project ${quoted(project)}. Calls with it are refused.`,
    ],
    action: 'See the key pairs',
    after: [],
  }),
  low_balance: ({ project, balance, threshold }) => ({
    before: [
      'Hello,',
      `The balance of the project ${quoted(project)} has fallen below ${threshold}: ${balance} is left. Calls that it does not cover are refused with status 403.`,
    ],
    action: 'Top up',
    after: [
      'You get this email once each time the balance falls below that amount, which you can change on the same page.',
    ],
  }),
  top_up_failed: ({ project, amount, reason, isPaused }) => ({
    before: [
      'Hello,',
      `The automatic top-up of ${amount} for the project ${quoted(project)} failed. ${reason} Nothing was charged.`,
      isPaused
        ? 'It was the third decline in a row, so automatic top-ups are paused until an admin resumes them.'
        : 'Parley tries again later, and pauses after three declines in a row.',
    ],
    action: 'Open the wallet',
    after: ['Calls that the balance does not cover are refused with status 403. You can top up by hand at any time.'],
  }),
  alert_opened: ({ project, alert, sentence }) => ({
    before: ['Hello,', `${alert}, in the project ${quoted(project)}. ${sentence}`],
    action: 'See the alert',
    after: ['You get no other email about this while it lasts. Choose your alerts on the same page.'],
  }),
  alert_closed: ({ project, alert, sentence }) => ({
    before: ['Hello,', `This is over in the project ${quoted(project)}: ${alert}. When it began: ${sentence}`],
    action: 'See the alerts',
    after: [],
  }),
  webhook_off: ({ project }) => ({
    before: [
      'Hello,',
      `A webhook endpoint of the project ${quoted(project)} accepted no event for three days, so Parley has switched it off. You can send the events it missed again from its page.`,
    ],
    action: 'See the endpoint',
    after: ['Fix it, send it a test event and switch it on again there.'],
  }),
}

export function renderMail<Template extends MailTemplate>(template: Template, data: MailData[Template]): RenderedMail {
  const { before, action, after } = LETTERS[template](data)
  const link = escapeHtml(data.link)
  return {
    subject: SUBJECTS[template],
    text: `${[...before, `${action}:\n${data.link}`, ...after].join('\n\n')}\n`,
    html: [
      '<!doctype html><html lang="en"><body style="font-family:sans-serif;line-height:1.5">',
      ...before.map(paragraph),
      `<p><a href="${link}">${escapeHtml(action)}</a></p><p>${link}</p>`,
      ...after.map(paragraph),
      '</body></html>',
    ].join('\n'),
  }
}

function paragraph(text: string): string {
  return `<p>${escapeHtml(text)}</p>`
}

export function isMailTemplate(name: string): name is MailTemplate {
  return Object.hasOwn(LETTERS, name)
}
