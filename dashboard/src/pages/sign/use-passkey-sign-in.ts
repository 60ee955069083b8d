import { useMutation } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useRef } from 'react'
import { canUsePasskeys, signInWithPasskey } from '../../passkeys.ts'

export interface PasskeySignIn {
  isPossible: boolean
  isBusy: boolean
  error: Error | null
  /** Asks the browser for a passkey. */
  ask(): void
  /** Ends the quiet offer, of which a browser has one at a time. */
  stop(): void
}

/** While the page stands there, the browser offers passkeys among the addresses that it knows; or by the button. */
export function usePasskeySignIn(onDone: () => Promise<void>): PasskeySignIn {
  const isPossible = canUsePasskeys()
  const quiet = useRef<AbortController>(undefined)
  const asked = useMutation({ mutationFn: () => signInWithPasskey(), onSuccess: onDone })
  const finish = useEffectEvent(onDone)
  useEffect(() => {
    if (!isPossible) return undefined
    const offer = new AbortController()
    quiet.current = offer
    void offerQuietly(offer.signal).then((isDone) => (isDone ? finish() : undefined))
    return () => offer.abort()
  }, [isPossible])
  const stop = () => quiet.current?.abort()
  function ask(): void {
    stop()
    asked.mutate()
  }
  return { isPossible, isBusy: asked.isPending, error: asked.error, ask, stop }
}

/** Failures are not shown: nobody has asked for anything. */
async function offerQuietly(signal: AbortSignal): Promise<boolean> {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return false
  return signInWithPasskey({ isQuiet: true, signal }).then(
    () => true,
    () => false,
  )
}
