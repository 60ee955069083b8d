/** A bug to plant: one small edit, and the test that must then fail. */
export interface Mutant {
  /** The defect that the code has once it is planted. */
  bug: string
  file: string
  /** Occurs exactly once in the file. */
  from: string
  to: string
  test: string
  /** The whole title of the test, without those of the suites around it. */
  title: string
  /** The tests of its file build on each other, so that all of them are run. */
  isStory?: true
}

/** The file's text with the bug in it. */
export function plant({ bug, file, from, to }: Mutant, text: string): string {
  const occurrences = text.split(from).length - 1
  if (occurrences !== 1)
    throw new Error(
      `"${bug}" cannot be planted: ${file} has its text ${occurrences} times, not once (is it planted by hand?)`,
    )
  return text.replace(from, () => to)
}
