import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { IconButton } from './icon-button.tsx'
import { toast } from './toast.tsx'

const THANKS_MS = 1_500

/** With `children` a button with a word, otherwise an icon. */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), THANKS_MS)
    return () => clearTimeout(timer)
  }, [isCopied])

  function copy(): void {
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => toast('Your browser blocked copying. Select the text and copy it manually.', 'bad'),
    )
  }

  const icon = isCopied ? <Check className="text-good" aria-hidden /> : <Copy aria-hidden />
  return (
    <>
      {children === undefined ? (
        <IconButton label={label} icon={icon} onClick={copy} className="size-7" />
      ) : (
        <Button icon={icon} onClick={copy} aria-label={label}>
          {isCopied ? 'Copied' : children}
        </Button>
      )}
      <span role="status" className="sr-only">
        {isCopied ? 'Copied' : ''}
      </span>
    </>
  )
}

/** A value to be taken elsewhere, such as a key or a DNS record. `shown` stands there instead of a secret. */
export function CopyField({ text, shown = text, label }: { text: string; shown?: string; label: string }) {
  return (
    <div className="flex min-w-0 items-center gap-1 rounded-md border border-line bg-sunken py-0.5 pr-1 pl-2.5">
      <code
        className="min-w-0 flex-1 overflow-x-auto py-1 font-mono text-sm whitespace-nowrap"
        tabIndex={0}
        aria-label={label}
      >
        {shown}
      </code>
      <CopyButton text={text} label={`Copy ${label}`} />
    </div>
  )
}
