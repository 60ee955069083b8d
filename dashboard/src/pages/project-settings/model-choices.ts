import { formatCount } from '../../formats.ts'
import type { Settings } from './settings.ts'

export interface Choice {
  id: string
  hint: string
  isServed: boolean
}

/** A model that is not served any more stays where it was chosen until somebody takes it out. */
export function choicesOf({ servedModels, allowedModels }: Pick<Settings, 'servedModels' | 'allowedModels'>): Choice[] {
  const served = servedModels.map(({ id, ownedBy, contextWindow }) => ({
    id,
    hint: contextWindow === null ? ownedBy : `${ownedBy}, ${formatCount(contextWindow)} tokens of context`,
    isServed: true,
  }))
  const gone = (allowedModels ?? []).filter((id) => !servedModels.some((model) => model.id === id))
  return [...served, ...gone.map((id) => ({ id, hint: '', isServed: false }))]
}
