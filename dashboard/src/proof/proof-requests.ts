/**
 * Changes that matter need a proof of identity that is at most ten minutes old. Whoever sends one without waits here for
 * the dialog; all that wait at the same time are answered by one proof.
 */

interface ProofRequest {
  promise: Promise<boolean>
  answer(isProven: boolean): void
}

let open: ProofRequest | undefined
const listeners = new Set<() => void>()

/** Whether the proof was given; not, when the dialog was closed. */
export function askForProof(): Promise<boolean> {
  if (open === undefined) {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    open = { promise, answer: resolve }
    notify()
  }
  return open.promise
}

export function answerProof(isProven: boolean): void {
  open?.answer(isProven)
  open = undefined
  notify()
}

/** Places for the dialog, innermost last: it is drawn over the dialog that waits for it, and as a part of it. */
const places: string[] = []

export function addPlace(place: string): () => void {
  places.push(place)
  notify()
  return () => {
    places.splice(places.indexOf(place), 1)
    // Nobody is left to answer: the session has ended, and the next one must not be asked for this.
    if (places.length === 0) answerProof(false)
    else notify()
  }
}

export function placeOfProof(): string | undefined {
  return open && places.at(-1)
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function notify(): void {
  for (const listener of listeners) listener()
}
