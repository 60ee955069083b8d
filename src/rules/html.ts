/** A text as it stands between tags or in a quoted attribute, whatever it contains. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
