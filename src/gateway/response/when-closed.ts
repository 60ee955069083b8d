import type { ServerResponse } from 'node:http'

/** At once, if it is closed already. */
export function whenClosed(res: ServerResponse, then: () => void): void {
  if (res.closed) then()
  else res.once('close', then)
}
