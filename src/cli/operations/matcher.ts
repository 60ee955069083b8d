import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readEncoderDirectory } from '../../config.ts'
import { EmbedderUnavailable, openEmbedder } from '../../recommend/embedding/embedder.ts'
import { CliError } from '../failures.ts'
import type { Output } from '../print.ts'
import { addCommand, print } from '../session.ts'

export function addMatcherCommands(program: Command): void {
  const matcher = program.command('matcher').description('what a matcher needs before it starts')
  addCommand(
    matcher,
    'prepare',
    'build the encoder that a matcher loads, unless it already exists; a matcher without one builds it when it starts',
    'parley matcher prepare',
  )
    .option('--into <directory>', 'the directory, instead of PARLEY_ENCODER_DIR or PARLEY_MATCHER_DIR')
    .action(async ({ into }: { into?: string }, command: Command) => {
      // As a shell passes on a variable that is not set; it would become the directory that one happens to be in.
      if (into === '') throw new CliError('--into needs a directory. Name one, or leave it out.')
      print(await prepare(resolve(into ?? readEncoderDirectory())), command)
    })
}

/** Checked and opened as a matcher does it, so that what was prepared is known to be whole and to load on this machine. */
async function prepare(directory: string): Promise<Output> {
  let isBuilt = false
  try {
    const embedder = await openEmbedder({ cacheDir: directory, onPreparing: () => (isBuilt = true) })
    await embedder.close()
    return {
      document: { directory, modelId: embedder.modelId, isBuilt },
      text: `The encoder ${embedder.modelId} ${isBuilt ? 'was built into' : 'is already in'} ${directory}.`,
    }
  } catch (error) {
    throw error instanceof EmbedderUnavailable ? new CliError(error.message) : error
  }
}
