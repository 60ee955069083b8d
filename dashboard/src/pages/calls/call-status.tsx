import { Status } from '../../components/badge.tsx'
import type { CallItem } from './use-calls.ts'

const TONES: Partial<Record<CallItem['outcome'], 'good' | 'neutral' | 'warn'>> = {
  completed: 'good',
  hung_up: 'neutral',
  hold_used_up: 'warn',
}

export function CallStatus({ call }: { call: Pick<CallItem, 'outcome' | 'title'> }) {
  return <Status tone={TONES[call.outcome] ?? 'bad'}>{call.title}</Status>
}
