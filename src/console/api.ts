import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ParleyError } from '../rules/errors.ts'
import { accountRoutes } from './accounts/account.ts'
import { signUpRoutes } from './accounts/sign-up.ts'
import { addressProofRoutes } from './accounts/address-proofs.ts'
import { auditRoutes } from './accounts/audit-log.ts'
import { callRoutes } from './calls/calls.ts'
import { conversationRoutes } from './calls/conversations.ts'
import { messageSearchRoutes } from './calls/message-search.ts'
import { endUserRoutes } from './calls/end-users.ts'
import { refusedRequestRoutes } from './calls/refused-requests.ts'
import { advertiserDomainRoutes } from './offers/advertiser-domain.ts'
import { advertiserRoutes } from './offers/advertisers.ts'
import { advertiserReportRoutes } from './offers/advertiser-report.ts'
import { advertiserWalletRoutes } from './offers/advertiser-wallet.ts'
import { campaignRoutes } from './offers/campaigns.ts'
import { feedUploadRoutes } from './offers/feed-uploads.ts'
import { feedRoutes } from './offers/feeds.ts'
import { offerRoutes } from './offers/offers.ts'
import { alertRoutes } from './projects/alerts.ts'
import { browserSessionRoutes } from './projects/browser-sessions.ts'
import { domainRoutes } from './projects/domain.ts'
import { homeRoutes } from './projects/home.ts'
import { keyRoutes } from './projects/keys.ts'
import { limitRoutes } from './billing/limits.ts'
import { monetizationRoutes } from './recommendations/monetization.ts'
import { earningRoutes } from './recommendations/earnings.ts'
import { rehearsalRoutes } from './recommendations/rehearsal.ts'
import { modelRoutes } from './projects/models.ts'
import { projectSettingsRoutes } from './projects/settings.ts'
import { savedPromptRoutes } from './projects/saved-prompts.ts'
import { passkeyRoutes } from './accounts/passkeys.ts'
import { playgroundRoutes } from './calls/playground.ts'
import { projectRoutes } from './projects/projects.ts'
import { quickStartRoutes } from './projects/quick-start.ts'
import { secondFactorRoutes } from './accounts/second-factors.ts'
import { signInRoutes } from './accounts/sign-in.ts'
import { teamRoutes } from './accounts/team.ts'
import { usageRoutes } from './billing/usage.ts'
import { topUpRoutes } from './billing/top-ups.ts'
import { walletRoutes } from './billing/wallet.ts'
import type { World } from './world.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    takesFile?: boolean
  }
}

/** Everything under /api, in a scope of its own. */
export function apiRoutes(scope: FastifyInstance, world: World): void {
  scope.addHook('onRequest', (request, reply, done) => {
    // The API's answers are personal, and some hold secrets that are shown once.
    reply.header('cache-control', 'no-store')
    done(isOwnOrigin(request, world.installation.consoleUrl) ? undefined : new ParleyError('origin_refused'))
  })
  // Not read here: who sends a file is asked first.
  scope.addContentTypeParser('application/octet-stream', (request, payload, done) => {
    if (request.routeOptions.config.takesFile) done(null, payload)
    else done(new ParleyError('not_json_content'))
  })
  scope.addHook('onResponse', (request, reply, done) => {
    const { url: route = 'other' } = request.routeOptions
    // Refusals are counted and logged where they are made.
    if (reply.statusCode < 400) {
      world.metrics.requests.inc({ route, status: reply.statusCode })
      world.log.info({ requestId: request.id, method: request.method, route, status: reply.statusCode })
    }
    done()
  })
  signUpRoutes(scope, world)
  signInRoutes(scope, world)
  addressProofRoutes(scope, world)
  projectRoutes(scope, world)
  homeRoutes(scope, world)
  quickStartRoutes(scope, world)
  playgroundRoutes(scope, world)
  savedPromptRoutes(scope, world)
  modelRoutes(scope, world)
  domainRoutes(scope, world)
  keyRoutes(scope, world)
  browserSessionRoutes(scope, world)
  limitRoutes(scope, world)
  teamRoutes(scope, world)
  auditRoutes(scope, world)
  accountRoutes(scope, world)
  secondFactorRoutes(scope, world)
  passkeyRoutes(scope, world)
  usageRoutes(scope, world)
  callRoutes(scope, world)
  refusedRequestRoutes(scope, world)
  conversationRoutes(scope, world)
  messageSearchRoutes(scope, world)
  endUserRoutes(scope, world)
  walletRoutes(scope, world)
  topUpRoutes(scope, world)
  alertRoutes(scope, world)
  monetizationRoutes(scope, world)
  earningRoutes(scope, world)
  rehearsalRoutes(scope, world)
  projectSettingsRoutes(scope, world)
  advertiserRoutes(scope, world)
  advertiserDomainRoutes(scope, world)
  advertiserReportRoutes(scope, world)
  advertiserWalletRoutes(scope, world)
  campaignRoutes(scope, world)
  feedRoutes(scope, world)
  feedUploadRoutes(scope, world)
  offerRoutes(scope, world)
}

/**
 * A change must be asked for by our own page. Browsers say by themselves where a request comes from; another site can
 * neither leave that out nor change it. Who says nothing at all is no browser of ours.
 */
function isOwnOrigin(request: FastifyRequest, consoleUrl: string): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true
  const site = request.headers['sec-fetch-site']
  return site === undefined ? request.headers.origin === consoleUrl : site === 'same-origin'
}
