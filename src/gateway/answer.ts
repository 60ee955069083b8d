import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamError, type UpstreamErrorKind } from '../providers/provider.ts'
import type { ChatRequest } from '../rules/chat-request.ts'
import type { Chunk } from '../rules/chunk.ts'
import type { Call } from './call.ts'
import type { Route } from './catalogue.ts'

/** What a second try at the very same deployment may cure. */
const WORTH_REPEATING: ReadonlySet<UpstreamErrorKind> = new Set(['refused', 'reset', 'server_error'])
const BACKOFF_MS = { least: 50, most: 400 }

/**
 * The answer of the first route that gives one. Routes are changed only before the first piece: afterwards the caller
 * has seen part of an answer, and a second one must not be glued to it.
 */
export async function* answer(routes: readonly Route[], request: ChatRequest, call: Call): AsyncGenerator<Chunk> {
  let failure: UpstreamError | undefined
  let previous: Route | undefined
  // A single route gets a second chance; where there are others, they are it.
  for (const route of routes.length === 1 ? [...routes, ...routes] : routes) {
    if (route === previous) {
      if (!failure || !WORTH_REPEATING.has(failure.kind)) break
      const waitMs = BACKOFF_MS.least + Math.random() * (BACKOFF_MS.most - BACKOFF_MS.least)
      // Ends with the reason of the abort, as a stream does, and not with the timer's own error: a caller that hung up
      // would be taken for a failure of ours.
      await sleep(waitMs, undefined, { signal: call.signal }).catch(() => call.signal.throwIfAborted())
    }
    previous = route
    const attempt = startAttempt(call, route)
    const { upstreamModel, timers } = route.deployment
    const chunks = route.provider
      .stream({ request, upstreamModel, apiKey: route.keys[0]?.secret, timers }, call.signal)
      [Symbol.asyncIterator]()
    let isStarted = false
    try {
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
        if (!isStarted) {
          isStarted = true
          call.facts.deploymentId = route.deployment.id
          attempt.end(undefined)
        }
        yield next.value
      }
      return
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      attempt.end(error.kind)
      if (isStarted) throw error
      failure = error
    } finally {
      // Cancels the upstream call when the caller of this generator leaves early.
      await chunks.return?.()
    }
  }
  throw failure ?? new UpstreamError('refused')
}

function startAttempt(call: Call, route: Route): { end(failed: UpstreamErrorKind | undefined): void } {
  const startedMs = performance.now()
  const attempt = {
    deployment: route.deployment.id,
    provider: route.provider.name,
    ms: 0,
    failed: undefined as string | undefined,
  }
  call.facts.attempts.push(attempt)
  return {
    end(failed) {
      attempt.ms = Math.round(performance.now() - startedMs)
      attempt.failed = failed
    },
  }
}
