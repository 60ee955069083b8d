/** What Parley writes to people. Plain sentences, one link, and nothing that is loaded from anywhere. */

export interface MailData {
  /** Without a name: whoever typed the address may have typed anything beside it. */
  activation: { link: string }
  known_address: { link: string }
  password_reset: { name: string; link: string }
  password_changed: { name: string; link: string }
  invitation: { publisher: string; invitedBy: string; role: string; link: string }
  domain_verified: { domain: string; link: string }
  domain_failing: { domain: string; lapsesOn: string; link: string }
  domain_lapsed: { domain: string; link: string }
  key_created: KeyMail
  key_rolled: KeyMail & { oldEnds: string }
  key_deleted: KeyMail
  low_balance: { project: string; balance: string; threshold: string; link: string }
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
  subject: string
  before: string[]
  action: string
  after: string[]
}

const LETTERS: { [Template in MailTemplate]: (data: MailData[Template]) => Letter } = {
  activation: () => ({
    subject: 'Confirm your address',
    before: ['Hello,', 'confirm your address to activate your Parley account. The link works for one day.'],
    action: 'Confirm my address',
    after: ['If you did not sign up, ignore this mail.'],
  }),
  known_address: () => ({
    subject: 'You already have an account',
    before: [
      'Hello,',
      'somebody, probably you, tried to sign up with this address. It has an account already: sign in, or ask there for a new password.',
    ],
    action: 'Sign in',
    after: ['If it was not you, ignore this mail: nothing has changed.'],
  }),
  password_reset: ({ name }) => ({
    subject: 'Set a new password',
    before: [`Hello ${name},`, 'here you can set a new password. The link works once, and for one hour.'],
    action: 'Set a new password',
    after: ['If you did not ask for it, ignore this mail: your password stays as it is.'],
  }),
  password_changed: ({ name }) => ({
    subject: 'Your password was changed',
    before: [`Hello ${name},`, 'your password was changed and you were signed out everywhere else.'],
    action: 'Sign in',
    after: ['If it was not you, ask for a new password on the sign-in page at once.'],
  }),
  invitation: ({ publisher, invitedBy, role }) => ({
    subject: `${invitedBy} invites you to ${publisher}`,
    before: [
      'Hello,',
      `${invitedBy} invites you to join ${publisher} on Parley as ${role}. Sign in, or sign up, with this address to accept. The invitation is open for seven days.`,
    ],
    action: 'Open the invitation',
    after: ['If you do not know them, ignore this mail.'],
  }),
  domain_verified: ({ domain }) => ({
    subject: `${domain} is verified`,
    before: ['Hello,', `${domain} is verified. Calls of its project are served.`],
    action: 'Open the domain page',
    after: ['Leave the proof where it is: Parley looks for it every day.'],
  }),
  domain_failing: ({ domain, lapsesOn }) => ({
    subject: `The proof for ${domain} is gone`,
    before: [
      'Hello,',
      `Parley does not find the proof any more that ${domain} is yours. Calls are still served until ${lapsesOn}; after that they are refused.`,
    ],
    action: 'See what is missing',
    after: ['Put the DNS record or the file back before then, and nothing else has to be done.'],
  }),
  domain_lapsed: ({ domain }) => ({
    subject: `Calls for ${domain} are refused`,
    before: [
      'Hello,',
      `the proof that ${domain} is yours was missing for seven days, so calls are now refused with status 403.`,
    ],
    action: 'See what is missing',
    after: ['Put the DNS record or the file back and check it on that page: calls are then served again at once.'],
  }),
  key_created: ({ key, project, by }) => ({
    subject: `New key pair for ${project}`,
    before: ['Hello,', `${by} has made the key pair "${key}" for the project ${project}.`],
    action: 'See the key pairs',
    after: ['If nobody of you did this, delete the pair there and sign everybody out.'],
  }),
  key_rolled: ({ key, project, by, oldEnds }) => ({
    subject: `A key pair of ${project} was replaced`,
    before: ['Hello,', `${by} has replaced the key pair "${key}" of the project ${project}. The old pair ${oldEnds}.`],
    action: 'See the key pairs',
    after: ['If nobody of you did this, delete the pair there and sign everybody out.'],
  }),
  key_deleted: ({ key, project, by }) => ({
    subject: `A key pair of ${project} was deleted`,
    before: ['Hello,', `${by} has deleted the key pair "${key}" of the project ${project}. Calls with it are refused.`],
    action: 'See the key pairs',
    after: [],
  }),
  low_balance: ({ project, balance, threshold }) => ({
    subject: `${project} has ${balance} left`,
    before: [
      'Hello,',
      `the balance of ${project} has fallen below ${threshold}: ${balance} is left. Calls that it does not cover are refused with status 403.`,
    ],
    action: 'Top up',
    after: [
      'This mail comes once each time the balance falls below that amount, which you can change on the same page.',
    ],
  }),
}

export function renderMail<Template extends MailTemplate>(template: Template, data: MailData[Template]): RenderedMail {
  const { subject, before, action, after } = LETTERS[template](withPlainTexts(data))
  const link = escapeHtml(data.link)
  const paragraph = (text: string) => `<p>${escapeHtml(text)}</p>`
  return {
    subject,
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

export function isMailTemplate(name: string): name is MailTemplate {
  return Object.hasOwn(LETTERS, name)
}

/** A name with a line break in it would otherwise write headers of its own. */
function withPlainTexts<Data extends object>(data: Data): Data {
  const entries = Object.entries(data).map(([key, text]) => [
    key,
    String(text).replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '),
  ])
  return Object.fromEntries(entries) as Data
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
