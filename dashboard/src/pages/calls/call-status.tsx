import { Status } from '../../components/badge.tsx'
import type { CallItem } from './use-calls.ts'

const TONES: Partial<Record<CallItem['outcome'], 'good' | 'neutral' | 'warn'>> = {
  completed: 'good',
  hung_up: 'neutral',
  hold_used_up: 'warn',
}

export function toneOf(outcome: CallItem['outcome']): 'good' | 'neutral' | 'warn' | 'bad' {
  return TONES[outcome] ?? 'bad'
}

export function CallStatus({ call }: { call: Pick<CallItem, 'outcome' | 'title'> }) {
  return <Status tone={toneOf(call.outcome)}>{call.title}</Status>
}
