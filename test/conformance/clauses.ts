/** Everything that Parley promises to its callers, sentence by sentence. Each testable one has at least one test. */
import { CONTRACT } from './contract.ts'
import { SPECIFICATION } from './specification.ts'

export interface Clause {
  id: string
  /** Where it is promised: `2.4` of the specification, or a section of the contract, which decides what that leaves open. */
  part: string
  text: string
  /** Why no server can be tested for it. */
  untestable?: string
  /** The piece of work that will bring it. Its test comes with it. */
  planned?: string
}

type Sentence = string | Pick<Clause, 'text' | 'untestable' | 'planned'>

export type Sections = Record<string, { prefix: string; sentences: Record<string, Sentence> }>

export const CLAUSES: readonly Clause[] = [...clausesIn(SPECIFICATION), ...clausesIn(CONTRACT)]

function clausesIn(sections: Sections): Clause[] {
  return Object.entries(sections).flatMap(([part, { prefix, sentences }]) =>
    Object.entries(sentences).map(([name, sentence]) => ({
      id: `${prefix}-${name}`,
      part,
      ...(typeof sentence === 'string' ? { text: sentence } : sentence),
    })),
  )
}
