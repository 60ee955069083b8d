/** What follows # in the link of a mail. It is not sent to any server and not kept in the browser's history. */
import { useState } from 'react'

export function useLinkToken(): string {
  const [token] = useState(() => {
    const given = decodeURIComponent(window.location.hash.slice(1)).replace(/^token=/, '')
    if (given !== '') window.history.replaceState(window.history.state, '', window.location.pathname)
    return given
  })
  return token
}
