/** Small: the sign alone, where a name stands beside it. */
export function Wordmark({ isSmall = false }: { isSmall?: boolean }) {
  return (
    <span className="inline-flex shrink-0 items-center gap-2 text-base font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" className="size-6" aria-hidden>
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <path
          d="M9 24V9.5h8.2a5.4 5.4 0 0 1 0 10.8H13"
          className="fill-none stroke-white"
          strokeWidth="3.2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
        <circle cx="23" cy="23" r="2.2" fill="#f2b872" />
      </svg>
      <span className={isSmall ? 'sr-only' : undefined}>Parley</span>
    </span>
  )
}
