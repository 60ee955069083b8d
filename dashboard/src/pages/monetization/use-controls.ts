import { useForm, type UseFormReturn } from 'react-hook-form'
import { plainMoney } from '../../formats.ts'
import type { Monetization } from './monetization.ts'

export interface Controls {
  audience: Monetization['audience']
  minRelevance: number
  firstTurn: number
  minTurnGap: number
  maxPerConversation: number
  /** In dollars, as it is typed. */
  floorNanos: string
  blockedCategories: string[]
  blockedDomains: string[]
  excludedTopics: string[]
}
export type ControlsForm = UseFormReturn<Controls>

/** Follows what the server says, except where somebody has begun to type. */
export function useControls(settings: Monetization): ControlsForm {
  return useForm<Controls>({ values: controlsOf(settings), resetOptions: { keepDirtyValues: true } })
}

function controlsOf(settings: Monetization): Controls {
  const { audience, minRelevance, firstTurn, minTurnGap, maxPerConversation } = settings
  const { blockedCategories, blockedDomains, excludedTopics } = settings
  return {
    audience,
    minRelevance,
    firstTurn,
    minTurnGap,
    maxPerConversation,
    floorNanos: plainMoney(settings.floorNanos),
    blockedCategories,
    blockedDomains,
    excludedTopics,
  }
}
