import { Badge, Status } from '../../components/badge.tsx'
import { Nothing } from '../../components/figures.tsx'
import { STATES, type ClickState } from './verdicts.ts'

/** Where the share of a click is. */
export function StateOfClick({ state }: { state: ClickState }) {
  if (state === 'unpaid') return <Nothing label="not paid for" />
  const tone = ({ pending: 'waiting', released: 'good', reversed: 'bad' } as const)[state]
  return <Status tone={tone}>{STATES[state]}</Status>
}

/** In words, and in colour only where it earned something. */
export function VerdictOfClick({ click }: { click: { label: string; state: ClickState } }) {
  return <Badge tone={click.state === 'unpaid' || click.state === 'reversed' ? 'neutral' : 'earn'}>{click.label}</Badge>
}
