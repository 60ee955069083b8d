import { Notice } from '../../components/notice.tsx'
import type { Mode, Monetization } from './monetization.ts'

const WORDS: Record<Exclude<Monetization['matcher'], 'ready'>, [what: string, why: string]> = {
  paused: [
    'Recommendations are paused by the operator.',
    'Replies come without any until they are resumed. Your settings stay as they are.',
  ],
  starting: ['The matcher is starting.', 'Until it is ready, replies come without recommendations.'],
  switched_off: [
    'The matcher has switched itself off.',
    'A check failed; the operator of this installation can see which. Replies come without recommendations.',
  ],
  absent: [
    'No matcher is running.',
    'Nothing looks for offers, so replies come without recommendations. The operator of this installation can start a matcher.',
  ],
  no_offers: [
    'There are no offers yet.',
    'The matcher is running, but no advertiser on this installation has an offer yet.',
  ],
}

/** Why nothing is recommended at this moment, whatever the project allows. */
export function MatcherNotice({ matcher, mode }: { matcher: Monetization['matcher']; mode: Mode }) {
  if (matcher === 'ready') return null
  const [what, why] = WORDS[matcher]
  return (
    <Notice tone={mode === 'off' ? 'neutral' : 'warn'}>
      <strong className="font-medium">{what}</strong> {why}
    </Notice>
  )
}
