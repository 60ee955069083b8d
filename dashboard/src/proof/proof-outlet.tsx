import { lazy, Suspense, useEffect, useId, useSyncExternalStore } from 'react'
import { addPlace, placeOfProof, subscribe } from './proof-requests.ts'

const ProofDialog = lazy(async () => ({ default: (await import('./proof-dialog.tsx')).ProofDialog }))

/**
 * A place for the dialog that asks for a proof. Each page and each dialog has one, and the innermost is used: a dialog that
 * is not part of the one below it would close that one at the first press, with all that was typed into it.
 */
export function ProofOutlet() {
  const place = useId()
  useEffect(() => addPlace(place), [place])
  const isHere = useSyncExternalStore(subscribe, placeOfProof) === place
  return isHere ? (
    <Suspense>
      <ProofDialog />
    </Suspense>
  ) : null
}
