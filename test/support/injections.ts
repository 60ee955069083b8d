/** Texts that an advertiser might put into a feed to reach the model, the reader's screen, or the form of our reply. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Injection {
  kind: string
  text: string
  /** `rejected`: no offer may come of it in any of its words. `cleaned`: one may, of which nothing harmful is left. */
  outcome: 'rejected' | 'cleaned'
}

export function readInjections(): Injection[] {
  const path = join(import.meta.dirname, '../fixtures/feeds/injections.json')
  return JSON.parse(readFileSync(path, 'utf8')) as Injection[]
}
