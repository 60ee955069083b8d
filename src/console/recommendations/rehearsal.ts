import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'
import { rehearse, type RehearsalOptions, type RehearsalResult } from '../../recommend/rehearsal.ts'
import { RehearsalRefused } from '../../recommend/rehearsal-client.ts'
import { CLICKS_PER_THOUSAND } from '../../rules/recommendations/rehearsal-figures.ts'
import { errorFields } from '../../platform/log.ts'
import { rehearsalEvent } from '../contract.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/**
 * The rehearsal of a project as events, for whoever asked and nobody else: what it comes to is in this answer and stays
 * nowhere. Each page of conversations is read in a transaction of its own, so that who loses their role meanwhile reads no
 * more.
 */
export function rehearsalRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/projects/:project/monetization/rehearsal', ({ project, inTenant }) =>
    eventsUntilLeft((signal) =>
      eventsOf(world, {
        client: world.rehearsals,
        projectId: project.id,
        publisherId: project.publisherId,
        inTransaction: inTenant,
        signal,
      }),
    ),
  )
}

/** A generator that waits cannot be told to stop: the iterator that the server gets does it, when the browser is gone. */
function eventsUntilLeft(eventsFor: (signal: AbortSignal) => AsyncGenerator<string>): AsyncIterable<string> {
  const left = new AbortController()
  const events = eventsFor(left.signal)
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => events.next(),
      return: () => {
        left.abort()
        return Promise.resolve({ done: true, value: undefined })
      },
    }),
  }
}

async function* eventsOf(world: World, options: RehearsalOptions): AsyncGenerator<string> {
  // At once, so that the browser knows that somebody is there.
  yield ': rehearsing\n'
  try {
    for await (const step of rehearse(options))
      yield eventWith('result' in step ? { result: shownOf(step.result) } : step)
  } catch (error) {
    if (options.signal.aborted) return
    const reason = error instanceof RehearsalRefused ? error.reason : 'unavailable'
    if (!(error instanceof RehearsalRefused)) world.log.error(errorFields(error), 'a rehearsal has failed')
    yield eventWith({ refusal: reason })
  }
}

function shownOf({ riskiest, ...result }: RehearsalResult) {
  return {
    ...result,
    clicksPerThousand: CLICKS_PER_THOUSAND,
    riskiest: riskiest.map(({ match: { advertiser, headline, benefit, relevance }, ...placement }) => {
      return { ...placement, advertiser, headline, benefit, relevance }
    }),
  }
}

/** Only the fields of a step that the contract names leave the server. */
function eventWith(event: z.input<typeof rehearsalEvent>): string {
  return `data: ${JSON.stringify(rehearsalEvent.parse(event))}\n\n`
}
