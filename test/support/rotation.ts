import { randomBytes } from 'node:crypto'
import { readConfig } from '../../src/config.ts'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { launchGateway, type SecondGateway } from '../conformance/second-gateway.ts'
import type { World } from './world.ts'

/** The steps in which PARLEY_SECRET is replaced, as docs/operations.md has them. */
export const STEPS = ['before', 'listed', 'swapped', 'dropped'] as const
export type Step = (typeof STEPS)[number]

export interface Rotation {
  /** PARLEY_SECRET in this step. */
  at(step: Step): string
  secretsAt(step: Step): Secrets
  /** The caller has to stop it. */
  launchGateway(step: Step): Promise<SecondGateway>
}

export function rotationOf(world: World): Rotation {
  const [old, fresh] = [String(world.env.PARLEY_SECRET), randomBytes(32).toString('base64')]
  const values = {
    before: `1:${old}`,
    listed: `1:${old},2:${fresh}`,
    swapped: `2:${fresh},1:${old}`,
    dropped: `2:${fresh}`,
  }
  return {
    at: (step) => values[step],
    secretsAt: (step) => createSecrets(readConfig({ ...world.env, PARLEY_SECRET: values[step] }).PARLEY_SECRET),
    launchGateway: (step) => launchGateway(world, { PARLEY_SECRET: values[step] }),
  }
}
