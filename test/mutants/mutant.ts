/** A bug to plant: one small edit, and the test that must then fail. */
export interface Mutant {
  /** What is wrong with the code once it is planted. */
  bug: string
  file: string
  /** Occurs exactly once in the file. */
  from: string
  to: string
  test: string
  /** The whole title of the test, without those of the suites around it. */
  title: string
}
