import { Sparkles } from 'lucide-react'

const SUGGESTIONS = [
  'Write three headlines for a story about a town that banned cars for a week.',
  'Explain to a reader in two sentences why the price of coffee has doubled.',
  'Suggest a table of contents for a guide to baking bread at altitude.',
]

/** An empty chat that says what to do with it. A click writes the question and asks nothing yet: that costs money. */
export function Invitation({ isComparing, onSuggest }: { isComparing: boolean; onSuggest(text: string): void }) {
  return (
    <div className="mx-auto flex min-h-full max-w-xl flex-col items-center justify-center py-8 text-center">
      <span className="mb-4 flex size-11 items-center justify-center rounded-xl bg-accent-soft text-accent-text">
        <Sparkles className="size-5" aria-hidden />
      </span>
      <h2 className="text-lg font-semibold tracking-tight">Ask something</h2>
      <p className="mt-1 text-muted">
        {isComparing
          ? 'Both models get the same message. Watch them answer side by side, then compare tokens, cost and time to first token.'
          : 'Watch the answer as it is written, then see its tokens, cost and time to first token.'}
      </p>
      <ul className="mt-6 flex w-full flex-col gap-2 text-left">
        {SUGGESTIONS.map((text) => (
          <li key={text}>
            <button
              type="button"
              onClick={() => {
                onSuggest(text)
                document.getElementById('playground-question')?.focus()
              }}
              className="w-full rounded-md border border-line px-3.5 py-2.5 text-left text-sm text-muted transition-colors hover:border-line-strong hover:bg-hover hover:text-ink"
            >
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
