/** The host of an address that somebody pastes into a field for a domain; undefined when it is a bare name already, or nothing. */
export function pastedHost(text: string): string | undefined {
  const typed = text.trim()
  if (!/[/?#:]/.test(typed)) return undefined
  const url = URL.parse(/^https?:\/\//i.test(typed) ? typed : `https://${typed}`)
  return url && url.username === '' && url.hostname.includes('.') ? url.hostname : undefined
}
