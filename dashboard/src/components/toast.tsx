import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { classes } from './classes.ts'
import { IconButton } from './icon-button.tsx'

interface ToastMessage {
  id: number
  text: string
  tone: 'good' | 'bad'
}

const SHOWN_MS = 6_000
const SHOWN_MAX = 3

let shown: ToastMessage[] = []
let nextId = 1
const listeners = new Set<() => void>()

/** Says that something has happened: `toast('The key is deactivated.')`. Failures stay until they are dismissed. */
export function toast(text: string, tone: ToastMessage['tone'] = 'good'): void {
  show([...shown, { id: nextId++, text, tone }].slice(-SHOWN_MAX))
}

export function toastError(error: unknown): void {
  toast(error instanceof Error ? error.message : String(error), 'bad')
}

/**
 * Mounted once. The region exists from the start: screen readers announce only what changes inside a known one. It is as
 * high as the window and always as wide, so that it never moves, whatever it holds. While the pointer is on one message, all
 * of them stay: if a newer one went first, the one above it would fall.
 */
export function Toasts() {
  const messages = useSyncExternalStore(subscribe, () => shown)
  return (
    <div
      aria-live="polite"
      role="status"
      className="pointer-events-none fixed inset-3 z-60 flex flex-col items-center justify-end gap-2 sm:inset-4 sm:left-auto sm:w-96 sm:items-end"
    >
      {messages.length > 0 && <Messages messages={messages} />}
    </div>
  )
}

/** Gone with the last message, and with it whether the pointer was on one: it does not leave what is dismissed under it. */
function Messages({ messages }: { messages: ToastMessage[] }) {
  const [isHeld, setHeld] = useState(false)
  return (
    <div className="contents" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
      {messages.map((message) => (
        <ToastCard key={message.id} message={message} isHeld={isHeld} />
      ))}
    </div>
  )
}

function ToastCard({ message, isHeld }: { message: ToastMessage; isHeld: boolean }) {
  const isBad = message.tone === 'bad'
  useEffect(() => {
    if (isHeld || isBad) return undefined
    const timer = setTimeout(() => dismiss(message.id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isHeld, isBad, message.id])
  const Icon = isBad ? CircleAlert : CircleCheck
  return (
    <div className="pointer-events-auto flex w-full max-w-sm animate-[toast-in_150ms_ease-out] items-start gap-2.5 rounded-lg bg-raised py-2 pr-1.5 pl-3 shadow-float">
      <Icon className={classes('mt-1.5 size-4 shrink-0', isBad ? 'text-bad' : 'text-good')} aria-hidden />
      <p className="min-w-0 flex-1 py-1">{message.text}</p>
      <IconButton label="Dismiss" icon={<X aria-hidden />} onClick={() => dismiss(message.id)} />
    </div>
  )
}

function dismiss(id: number): void {
  show(shown.filter((message) => message.id !== id))
}

function show(messages: ToastMessage[]): void {
  shown = messages
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
