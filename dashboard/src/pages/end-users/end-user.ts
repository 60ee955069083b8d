import type { Item } from '../../api.ts'

export type EndUser = Item<'GET /api/projects/:project/end-users'>

/** As people call them: by the label, or by the beginning of the digest. */
export function nameOf({ label, id }: Pick<EndUser, 'label' | 'id'>): string {
  return label ?? `${id.slice(0, 8)}…`
}

/** The example of the quick start, made for somebody. */
export function curlForEndUser(curl: string): string {
  return curl.replace(/\n(\s*)-H /, `\n$1-H 'x-end-user-id: customer-17' \\\n$1-H 'x-end-user-label: Grace' \\\n$1-H `)
}
