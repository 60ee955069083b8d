import { useState } from 'react'

/** The part after # in the link of a mail. It is not sent to any server and not kept in the browser's history. */
export function useLinkToken(): string {
  const [token] = useState(() => {
    const given = decodeURIComponent(window.location.hash.slice(1)).replace(/^token=/, '')
    if (given !== '') window.history.replaceState(window.history.state, '', window.location.pathname)
    return given
  })
  return token
}

/** The address that a link is about, to be shown. Only the server knows whether the link is ours. */
export function addressIn(token: string): string {
  try {
    const base64 = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const { email } = JSON.parse(new TextDecoder().decode(bytes)) as { email?: unknown }
    return typeof email === 'string' ? email : ''
  } catch {
    return ''
  }
}
