import { useChange } from '../../queries.ts'

/** Reads the list again, because that is where people return to after they delete a conversation. */
export function useDeletion() {
  return useChange('DELETE /api/projects/:project/conversations/:conversation', [
    'GET /api/projects/:project/conversations',
  ])
}
