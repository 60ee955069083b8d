import type { Call } from '../call.ts'
import { beginAnswer, isProvidersFailure, type Ask, type Chunks } from './answer.ts'
import type { Route } from './catalogue.ts'
import type { Upstreams } from './upstreams.ts'

/**
 * The answer of the first route that gives one, when it has begun: the model that was asked for, then those that the caller named
 * to fall back on. As among deployments, another one is asked only before that. `tryRoute` is told of each as its turn comes.
 */
export async function beginAnswerOfRoutes<R extends Route>(
  upstreams: Upstreams,
  routes: readonly R[],
  tryRoute: (route: R) => Ask,
  call: Call,
  signal: AbortSignal,
): Promise<Chunks> {
  let failure: unknown
  for (const [at, route] of routes.entries()) {
    const isLastRoute = at === routes.length - 1
    try {
      return await beginAnswer(upstreams, route.deployments, { ...tryRoute(route), isLastRoute }, call, signal)
    } catch (error) {
      if (signal.aborted || !isProvidersFailure(error)) throw error
      failure = error
    }
  }
  throw failure
}
