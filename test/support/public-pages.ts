import fastify from 'fastify'
import { publicPages, type PublicPages } from '../../src/console/public/pages.ts'
import { createLog } from '../../src/platform/log.ts'
import { ParleyError } from '../../src/rules/errors.ts'

/** The pages for strangers alone, with figures that a test decides and a clock that it sets. */
export interface PublicPagesOfTest {
  get(path: string): Promise<string>
  inject(path: string, address: string): Promise<{ statusCode: number }>
  pass(ms: number): void
  close(): Promise<unknown>
}

export interface PublicPagesSettings extends Partial<Pick<PublicPages, 'findFigures' | 'measure'>> {
  figures?: boolean
  status?: boolean
  providers?: boolean
  sandboxDomain?: string | undefined
  now?: () => Date
}

const NO_FIGURES = { models: 0, calls: null, firstTokenMs: null }
const NOTHING_MEASURED = { through: null, models: [], sums: [], days: [], slotsInTrouble: [] }

export function openPublicPages(webRoot: string, settings: PublicPagesSettings): PublicPagesOfTest {
  const { figures = false, status = false, providers = false, sandboxDomain } = settings
  const app = fastify({ trustProxy: true })
  let passedMs = 0
  app.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof ParleyError ? error.status : 500).send(String(error)),
  )
  publicPages(app, {
    installation: {
      gatewayUrl: 'https://gateway.example.com',
      publicPages: { figures, status, providers },
      sandboxDomain,
    },
    webRoot,
    log: createLog('silent'),
    sessionCookie: 'parley.session_token',
    findFigures: settings.findFigures ?? (() => Promise.resolve(NO_FIGURES)),
    measure: settings.measure ?? (() => Promise.resolve(NOTHING_MEASURED)),
    elapsedMs: () => passedMs,
    ...(settings.now && { now: settings.now }),
  })
  return {
    get: async (path) => (await app.inject(path)).body,
    inject: (url, address) => app.inject({ url, headers: { 'x-forwarded-for': address } }),
    pass: (ms) => (passedMs += ms),
    close: () => app.close(),
  }
}
