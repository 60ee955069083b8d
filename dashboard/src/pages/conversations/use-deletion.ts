import { useChange } from '../../queries.ts'

/** Whoever deletes a conversation comes back to the list. */
export function useDeletion() {
  return useChange('DELETE /api/projects/:project/conversations/:conversation', [
    'GET /api/projects/:project/conversations',
  ])
}
