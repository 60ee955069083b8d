/** The list with what was typed, split at commas and lines, and nothing twice: case makes no difference. */
export function withWords(words: readonly string[], typed: string): string[] {
  const all = [...words]
  for (const word of typed.split(/[,\n]/).map((part) => part.trim()))
    if (word !== '' && !all.some((each) => each.toLowerCase() === word.toLowerCase())) all.push(word)
  return all
}
