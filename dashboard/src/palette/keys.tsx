export function Keys({ of: keys }: { of: string[] }) {
  return (
    <span className="inline-flex gap-1">
      {keys.map((key) => (
        <kbd
          key={key}
          className="inline-flex h-5 min-w-5 items-center justify-center rounded-sm border border-line-strong bg-surface px-1 font-sans text-2xs text-muted"
        >
          {key}
        </kbd>
      ))}
    </span>
  )
}
