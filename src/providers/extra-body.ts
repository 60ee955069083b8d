import { isRecord } from '../rules/record.ts'

/** Adds what an operator wants sent with each request. What the request says itself counts. */
export function withExtra(
  body: Record<string, unknown>,
  extra: Record<string, unknown> | undefined,
): Record<string, unknown> {
  if (extra === undefined) return body
  const merged = { ...extra }
  for (const [name, value] of Object.entries(body)) {
    const beside = extra[name]
    if (value !== undefined) merged[name] = isRecord(value) && isRecord(beside) ? withExtra(value, beside) : value
  }
  return merged
}
