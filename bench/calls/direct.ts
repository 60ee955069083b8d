/** Nobody in between: what the provider and the caller take by themselves. */
import { ANY_KEY, type Subject, type Surroundings } from './subject.ts'

export function direct({ providerUrl }: Surroundings): Subject {
  return { name: 'direct', start: async () => ({ url: providerUrl, headers: ANY_KEY, stop: async () => undefined }) }
}
