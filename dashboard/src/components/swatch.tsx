/** The colour of something in the charts, beside its name. */
export function Swatch({ colour }: { colour: string }) {
  return <span aria-hidden className="inline-block size-2.5 shrink-0 rounded-[3px]" style={{ background: colour }} />
}
