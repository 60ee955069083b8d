import { encode } from 'uqr'

/** Always dark on white, in both themes: many scanners read nothing else. */
export function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 })
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return (
    <svg
      role="img"
      aria-label="QR code of the secret"
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="mx-auto size-44 rounded-lg bg-white"
    >
      <path d={path} fill="#000" />
    </svg>
  )
}
