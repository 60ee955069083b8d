/** Whether the keyboard has a ⌘ where others have a Ctrl. */
export function isMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent)
}
