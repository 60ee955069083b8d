import { Status } from '../../components/badge.tsx'
import { standingOf, type Feed } from './feed.ts'

export function FeedStanding({ feed }: { feed: Feed }) {
  const { tone, word, more } = standingOf(feed)
  return (
    <span className="block">
      <Status tone={tone}>{word}</Status>
      {more !== undefined && <span className="mt-1 block text-sm text-muted [overflow-wrap:anywhere]">{more}</span>}
    </span>
  )
}
