import { classes } from './classes.ts'

/** Takes the room of what is coming; give it the size of that. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={classes('skeleton block', className)} />
}

/** Lines of a text or a form that is coming. */
export function SkeletonLines({ count, className }: { count: number; className?: string }) {
  return (
    <div role="status" aria-label="Loading" className={classes('flex flex-col gap-3', className)}>
      {Array.from({ length: count }, (_, n) => (
        <Skeleton key={n} className={n % 3 === 2 ? 'h-4 w-3/5' : 'h-4 w-full'} />
      ))}
    </div>
  )
}
