import type { Item } from '../../api.ts'

export type Model = Item<'GET /api/projects/:project/catalogue'>

/** The orders in which the list can be sorted, with their words. */
export const SORTS = [
  ['name', 'By name'],
  ['input', 'Cheapest input'],
  ['output', 'Cheapest output'],
  ['context', 'Largest context'],
  ['first-token', 'Fastest first token'],
  ['failures', 'Fewest failures'],
  ['calls', 'Most calls in 24 h'],
] as const
export type Sort = (typeof SORTS)[number][0]

export function sortOf(text: string | undefined): Sort {
  return SORTS.find(([value]) => value === text)?.[0] ?? 'name'
}

export const ABILITIES: Record<Model['abilities'][number], string> = {
  tools: 'Tools',
  images: 'Images',
  json_schema: 'JSON schema',
  reasoning: 'Reasoning',
  caching: 'Prompt caching',
  embeddings: 'Embeddings',
}

/** Every word must be in a model's id, its maker's name or what it can do. */
export function foundModels(models: readonly Model[], search: string, sort: Sort): Model[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return models
    .filter((model) => {
      const text = [model.id, model.ownedBy, ...model.abilities.map((each) => ABILITIES[each])].join(' ').toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .toSorted((a, b) => rankOf(a, sort) - rankOf(b, sort) || (a.id < b.id ? -1 : 1))
}

/** The least comes first; what is not known comes last. */
function rankOf({ price, contextWindow, measured, calls }: Model, sort: Sort): number {
  switch (sort) {
    case 'name':
      return 0
    case 'input':
      return Number(price.input)
    case 'output':
      return Number(price.output)
    case 'context':
      return -(contextWindow ?? 0)
    case 'first-token':
      return measured?.firstTokenMs.p50 ?? Number.MAX_VALUE
    case 'failures':
      return measured === null ? Number.MAX_VALUE : measured.failed / calls
    case 'calls':
      return -calls
  }
}
