import { ImageOff } from 'lucide-react'
import { withVisibleControls } from '../safe-text.ts'

/** As it was written, without any meaning. */
export function PlainText({ text }: { text: string }) {
  return (
    <p dir="auto" className="leading-6 whitespace-pre-wrap [overflow-wrap:anywhere]">
      {withVisibleControls(text)}
    </p>
  )
}

export function NotLoadedImage({ address, alt = '' }: { address: string; alt?: string | undefined }) {
  return (
    <span className="inline-flex max-w-full items-start gap-2 rounded-md border border-dashed border-line-strong px-2.5 py-1.5 text-sm text-muted">
      <ImageOff className="mt-0.5 size-4 shrink-0" aria-hidden />
      <span className="min-w-0">
        Image not loaded{alt && `: ${alt}`}
        {address && <code className="block font-mono text-xs [overflow-wrap:anywhere]">{address}</code>}
      </span>
    </span>
  )
}
