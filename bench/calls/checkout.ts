/** Parley of another revision, installed in a folder of the cache. */
import { ROOT } from '../../test/support/commands.ts'
import { cached } from './cache.ts'
import { runNpm, runProgram } from './processes.ts'
import { NotHere, type Surroundings } from './subject.ts'

export { ROOT }

export async function checkoutOf(revision: string, { ending, say }: Surroundings): Promise<string> {
  const resolve = ['git', '-C', ROOT, 'rev-parse', '--verify', '--quiet', `${revision}^{commit}`]
  const commit = (
    await runProgram(ending, resolve).catch(() => {
      throw new NotHere(`there is no revision ${revision} here`)
    })
  ).trim()
  return cached(`parley-${commit}`, ending, async (folder) => {
    say(`installing revision ${revision}, once`)
    await runProgram(ending, ['git', 'clone', '--quiet', '--no-checkout', ROOT, folder])
    await runProgram(ending, ['git', '-C', folder, 'checkout', '--quiet', '--detach', commit])
    await runNpm(ending, ['ci', '--omit=dev'], folder)
  })
}
