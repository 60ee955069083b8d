import type { Reply } from '../../api.ts'

export type Onboarding = Reply<'GET /api/projects/:project/onboarding'>
export type Home = Reply<'GET /api/projects/:project/home'>
export type BriefCall = NonNullable<Onboarding['call']>
export type Failure = Home['failures'][number]

export interface Step {
  id: 'account' | 'domain' | 'keys' | 'request' | 'credit' | 'live'
  title: string
  /** Why it matters, in one sentence. */
  why: string
  isDone: boolean
  /** The action, and the page on which it is taken. */
  verb: string
  page: string
}

interface Payments {
  canPay: boolean
}

/** Where nothing can be paid, the operator adds credit. */
const CREDIT = {
  paid: { why: 'Calls are paid from a prepaid balance: nothing is ever charged beyond it.', verb: 'Top up' },
  given: {
    why: 'Calls are paid from a prepaid balance. The operator of this installation adds credit.',
    verb: 'Wallet',
  },
}

export function stepsOf(onboarding: Onboarding, payments: Payments): Step[] {
  return onboarding.isSandbox ? sandboxSteps(onboarding, payments) : ownSteps(onboarding, payments)
}

/** Its domain is verified and its credit there from the start. */
function sandboxSteps(onboarding: Onboarding, payments: Payments): Step[] {
  const account = {
    id: 'account' as const,
    title: 'Confirm your email',
    why: 'A confirmed address is how we reach you when something needs your attention.',
    isDone: onboarding.isActivated,
    verb: 'Your account',
    page: '/account',
  }
  const live = {
    id: 'live' as const,
    title: 'Go live: create a project with your own domain',
    why: 'It has its own keys and wallet, without the limits of a sandbox. Your code stays the same.',
    isDone: onboarding.hasOwnProject,
    verb: 'Create project',
    page: '/new-project',
  }
  return [account, ...ownSteps(onboarding, payments).filter(({ id }) => id === 'keys' || id === 'request'), live]
}

function ownSteps(onboarding: Onboarding, { canPay }: Payments): Step[] {
  return [
    {
      id: 'account',
      title: 'Activate your account',
      why: 'A confirmed address is how we reach you when something needs your attention.',
      isDone: onboarding.isActivated,
      verb: 'Your account',
      page: '/account',
    },
    {
      id: 'domain',
      title: 'Verify your domain',
      why: 'Only calls for a verified domain are answered, so no one else can pose as you.',
      isDone: onboarding.isDomainVerified,
      verb: 'Verify domain',
      page: 'domain',
    },
    {
      id: 'keys',
      title: 'Create a key pair',
      why: 'Your servers identify themselves with it. You see the secret once.',
      isDone: onboarding.hasKeyPair,
      verb: 'Create keys',
      page: 'keys',
    },
    {
      id: 'request',
      title: 'Send your first request',
      why: 'Paste one command, or ask in the playground, and watch it arrive here.',
      isDone: onboarding.isAnswered,
      verb: 'Quick start',
      page: 'quick-start',
    },
    {
      id: 'credit',
      title: 'Add credit',
      ...(canPay ? CREDIT.paid : CREDIT.given),
      isDone: onboarding.hasCredit,
      page: 'wallet',
    },
  ]
}

export function areAllDone(onboarding: Onboarding): boolean {
  return stepsOf(onboarding, { canPay: true }).every(({ isDone }) => isDone)
}
