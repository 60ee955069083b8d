import type { Reply } from '../../api.ts'

export type Onboarding = Reply<'GET /api/projects/:project/onboarding'>
export type Home = Reply<'GET /api/projects/:project/home'>
export type BriefCall = Home['failures'][number]

export interface Step {
  id: 'account' | 'domain' | 'keys' | 'request' | 'credit'
  title: string
  /** Why it matters, in one sentence. */
  why: string
  isDone: boolean
  /** What to do about it, and where. */
  verb: string
  page: string
}

export function stepsOf(onboarding: Onboarding): Step[] {
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
      why: 'Only calls of a domain that is proven to be yours are answered, so nobody else can pose as you.',
      isDone: onboarding.isDomainVerified,
      verb: 'Verify domain',
      page: 'domain',
    },
    {
      id: 'keys',
      title: 'Create a key pair',
      why: 'Your servers sign their calls with it. You see the secret once.',
      isDone: onboarding.hasKeyPair,
      verb: 'Create keys',
      page: 'keys',
    },
    {
      id: 'request',
      title: 'Send your first request',
      why: 'Paste one command, and watch it arrive here.',
      isDone: onboarding.call !== null,
      verb: 'Quick start',
      page: 'quick-start',
    },
    {
      id: 'credit',
      title: 'Have credit to spend',
      why: 'Calls are paid from a prepaid balance: nothing is ever charged beyond it.',
      isDone: onboarding.hasCredit,
      verb: 'Top up',
      page: 'wallet',
    },
  ]
}

export function areAllDone(onboarding: Onboarding): boolean {
  return stepsOf(onboarding).every(({ isDone }) => isDone)
}
