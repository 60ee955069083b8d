import type { Mutant } from './mutant.ts'

/** Bugs in keys, credit and the store. */
const CREDIT: Mutant[] = [
  {
    bug: 'a call that the wallet refuses keeps its claim of the Idempotency-Key',
    file: 'src/gateway/hold.ts',
    from: '    await idempotency.giveUp(call)\n',
    to: '',
    test: 'test/e2e/idempotency.test.ts',
    title: 'a call that failed can be tried again under its key',
  },
  {
    bug: 'a provider is told max_tokens beyond what the model can write',
    file: 'src/gateway/hold.ts',
    from: 'max_tokens !== undefined || isUnseen ? outputTokens : undefined',
    to: 'max_tokens ?? (isUnseen ? outputTokens : undefined)',
    test: 'test/e2e/wallet-limits.test.ts',
    title: 'max_tokens beyond what the model can write is lowered to that, for the wallet and for the provider',
  },
  {
    bug: 'a provider that ignores where it was told to stop is never stopped',
    file: 'src/gateway/metering/meter.ts',
    from: 'if (options.isBounded) return spentNow <= held() * BOUNDED_LEEWAY',
    to: 'if (options.isBounded) return true',
    test: 'src/gateway/metering/meter.test.ts',
    title: 'a provider that was told where to stop counts in its own way, up to twice ours',
  },
  {
    bug: 'the name of a tool call is not counted',
    file: 'src/gateway/metering/answer-count.ts',
    from: "(chunk.name ?? '') + chunk.arguments",
    to: 'chunk.arguments',
    test: 'src/gateway/metering/meter.test.ts',
    title: 'a tool call is counted with its name, and is the answer from its first chunk on',
  },
  {
    bug: 'an answer goes on when the wallet could not extend its hold',
    file: 'src/gateway/metering/meter.ts',
    from: 'growing.then(() => growth.isEnough(spentNow <= held()))',
    to: 'growing.then(() => true)',
    test: 'src/gateway/metering/meter.test.ts',
    title: 'a chunk that does not fit waits for the hold to grow, and is admitted only if it has grown enough',
  },
  {
    bug: 'a long answer is cut to what the catalogue says of its model, although it was written',
    file: 'src/gateway/metering/conclusion.ts',
    from: 'options.isTold ? outputMax : Math.max(outputMax, bytes + thoughtBytes)',
    to: 'outputMax',
    test: 'src/gateway/metering/meter.test.ts',
    title:
      'an answer that is longer than the catalogue says was written all the same; one that was told to stop was not',
  },
  {
    bug: 'a completed answer that said nothing is free',
    file: 'src/gateway/paid-call.ts',
    from: "if (outcome === 'completed' || meter.isStarted()) return true",
    to: 'if (meter.isStarted()) return true',
    test: 'test/e2e/odd-endings.test.ts',
    title:
      'an odd end without a word is an empty answer, and what the provider reported for it is paid, however often it was tried',
  },
  {
    bug: 'a beat gives back the holds of calls that have begun meanwhile',
    file: 'src/gateway/lease.ts',
    from: '        if (running.has(hold.id)) continue\n',
    to: '',
    test: 'src/gateway/lease.test.ts',
    title: 'a hold that no running call has is given back, and one of a call that began meanwhile is not',
  },
  {
    bug: 'a lease stays fresh however long the store is away',
    file: 'src/gateway/lease.ts',
    from: 'return performance.now() - lastBeatMs < 3 * beatMs',
    to: 'return true',
    test: 'src/gateway/lease.test.ts',
    title: 'a lease is fresh until three beats have failed, and again with the first that reaches the store',
  },
  {
    bug: 'a gateway is ready whatever becomes of its lease',
    file: 'src/gateway/gateway-health.ts',
    from: '...(lease.isFresh ? []',
    to: '...(lease ? []',
    test: 'test/integration/store-trouble.test.ts',
    title: 'a gateway that has not reached PostgreSQL for three beats is not ready, and is again when it has',
  },
  {
    bug: 'an expired key still lists models',
    file: 'src/gateway/authenticate.ts',
    from: 'if (!record.isActive || (record.expiresAt && record.expiresAt.getTime() <= Date.now()))',
    to: 'if (!record.isActive)',
    test: 'test/conformance/authentication.test.ts',
    title:
      '5-inactive-401: An inactive key pair is 401. (also once it has expired, to the millisecond, however lately it was looked up)',
  },
  {
    bug: 'a key expires a millisecond late',
    file: 'src/gateway/authenticate.ts',
    from: 'record.expiresAt.getTime() <= Date.now()',
    to: 'record.expiresAt.getTime() < Date.now()',
    test: 'test/conformance/authentication.test.ts',
    title:
      '5-inactive-401: An inactive key pair is 401. (also once it has expired, to the millisecond, however lately it was looked up)',
  },
  {
    bug: 'a pair that was valid a moment ago is not believed while the store is away',
    file: 'src/gateway/authenticate.ts',
    from: '        if (believed) return believed\n',
    to: '',
    test: 'test/conformance/unavailable.test.ts',
    title: 'order-store-not-401: A valid pair is never answered 401 because a database is down: that is 503.',
  },
  {
    bug: 'a pair that was once valid is believed for hours while the store is away',
    file: 'src/gateway/authenticate.ts',
    from: 'const STALE_MS = MINUTE_MS',
    to: 'const STALE_MS = 1_000 * MINUTE_MS',
    test: 'test/conformance/unavailable.test.ts',
    title: 'order-store-not-401: A valid pair is never answered 401 because a database is down: that is 503.',
  },
  {
    bug: 'after the root secret was rotated no older key pair is accepted',
    file: 'src/gateway/authenticate.ts',
    from: "secrets.keyFor('key-pair-pepper', secretVersion)",
    to: 'currentPepper',
    test: 'test/integration/secrets.test.ts',
    title: 'after a new secret is put before the old one, key pairs of both are accepted, and completions answered',
  },
]

/** Bugs in repeated calls. */
const RETRIES: Mutant[] = [
  {
    bug: 'a key and a body are replayed into another conversation',
    file: 'src/gateway/idempotency.ts',
    from: "`body ${endpointIn(call)}${call.conversationId ?? ''} ${JSON.stringify(call.body)}`",
    to: '`body ${endpointIn(call)}${JSON.stringify(call.body)}`',
    test: 'test/e2e/idempotency.test.ts',
    title: 'the same key and body in another conversation are another request: 422',
  },
  {
    bug: 'a refusal is not replayed',
    file: 'src/gateway/idempotency.ts',
    from: "(['reasoning', 'text', 'refusal'] as const).map",
    to: "(['reasoning', 'text'] as const).map",
    test: 'src/gateway/idempotency.test.ts',
    title:
      'a stored answer is given again whole: its text, its refusal, its tool calls, what stood after it, and its end',
  },
  {
    bug: 'a recommendation is not replayed',
    file: 'src/gateway/idempotency.ts',
    from: '  if (recommendation) yield recommendation\n',
    to: '',
    test: 'src/gateway/idempotency.test.ts',
    title:
      'a stored answer is given again whole: its text, its refusal, its tool calls, what stood after it, and its end',
  },
  {
    bug: 'fresh idempotency keys are forgotten, and old ones kept',
    file: 'src/store/calls/idempotency.ts',
    from: "where created_at < now() - ${keptMs} * interval '1 ms' limit",
    to: "where created_at > now() - ${keptMs} * interval '1 ms' limit",
    test: 'test/e2e/idempotency.test.ts',
    title: 'a key is kept for a day and not an hour longer: what is older is forgotten, and nothing that is younger',
  },
  {
    bug: 'a caller with an Idempotency-Key that loses its connection cancels its call',
    file: 'src/gateway/serve-call.ts',
    from: 'if (res.writableFinished || call.idempotencyKey !== undefined) return',
    to: 'if (res.writableFinished) return',
    test: 'test/e2e/idempotency.test.ts',
    title: 'a caller that lost its connection midway gets the whole answer when it asks again, and pays once',
  },
]

/** Bugs that callers see. */
const ANSWERS: Mutant[] = [
  {
    bug: 'pings are sent at fixed times, also between chunks that come all the time',
    file: 'src/gateway/response/respond.ts',
    from: '      heartbeat.refresh()\n',
    to: '',
    test: 'src/gateway/response/respond.test.ts',
    title: 'there is no ping while chunks come, however long it takes: each chunk puts the next ping off',
  },
  {
    bug: 'the answer to a slow reader that was cut off is not read to its end',
    file: 'src/gateway/response/respond.ts',
    from: '      if (room) await room\n',
    to: '      if (room) await room\n      if (res.destroyed) break\n',
    test: 'src/gateway/response/respond.test.ts',
    title: 'a caller that does not read stops the upstream, and is cut off when it stays that way',
  },
  {
    bug: 'nobody is waited for: a caller that does not read makes the gateway keep all that comes',
    file: 'src/gateway/response/respond.ts',
    from: '      if (room) await room\n',
    to: '      if (room) void room\n',
    test: 'src/gateway/response/respond.test.ts',
    title: 'a caller that does not read stops the upstream, and is cut off when it stays that way',
  },
  {
    bug: 'the content of a refusal is an empty text',
    file: 'src/gateway/response/reply.ts',
    from: "text === '' && (calls.length > 0 || refusal !== '') ? null : text",
    to: "text === '' && calls.length > 0 ? null : text",
    test: 'src/gateway/response/reply.test.ts',
    title: 'a refusal without a text has no content, and one after a text keeps it',
  },
  {
    bug: 'tool calls whose indices have gaps are folded with holes',
    file: 'src/gateway/response/reply.ts',
    from: 'toolCalls.filter(Boolean)',
    to: 'toolCalls',
    test: 'src/gateway/response/reply.test.ts',
    title: 'tool calls are folded by their index, whatever comes between them and whichever comes first',
  },
]

/** Bugs in providers and routes. */
const ROUTES: Mutant[] = [
  {
    bug: 'a key that has failed the call is tried again by it',
    file: 'src/gateway/upstreams/answer.ts',
    from: '        spentKeys.add(admission.key.id)\n',
    to: '',
    test: 'src/gateway/upstreams/answer.test.ts',
    title: 'a key that has failed the call is not tried again by it, although it has rested by then',
  },
  {
    bug: 'a call that finds no key keeps the place of a probe',
    file: 'src/gateway/upstreams/upstreams.ts',
    from: "        passage.ended('left')\n",
    to: '',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'a call that finds no key does not take the place of a probe',
  },
  ...['rate_limited', 'key_rejected', 'rejected', 'event_too_big'].map((kind) => ({
    bug: `"${kind}" opens the breaker of a deployment`,
    file: 'src/rules/upstreams/blame.ts',
    from: `  ${kind}: 'nobody',`,
    to: `  ${kind}: 'one',`,
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'failures of a deployment open its breaker; refusals of a key or a request, and hang-ups, do not',
  })),
]

/** Bugs in recommendations. */
const RECOMMENDATIONS: Mutant[] = [
  {
    bug: 'what a publisher sees in its playground is recorded as delivered',
    file: 'src/gateway/recommendations/recommendations.ts',
    from: "if (isTest || isPlayground) records.setState({ id, state: 'test' })",
    to: "if (isTest) records.setState({ id, state: 'test' })",
    test: 'test/e2e/recommendations.test.ts',
    title: 'what a publisher sees in its own playground is shown, and costs no advertiser anything',
  },
  {
    bug: 'a caller who leaves while its answer is charged counts as one who saw the recommendation',
    file: 'src/gateway/paid-call.ts',
    from: 'recommendation?.end(...fate())',
    to: 'recommendation?.end(isPlaced, FAILURES.has(outcome))',
    test: 'test/e2e/recommendations.test.ts',
    title: 'a caller that is gone before its whole answer was charged has not seen the recommendation',
  },
  {
    bug: 'a conversation’s next turn does not know what was recommended',
    file: 'src/gateway/recommendations/recommendations.ts',
    from: 'conversation: conversation?.digest,',
    to: 'conversation: undefined,',
    test: 'test/e2e/recommendation-attacks.test.ts',
    title: 'a conversation whose turns follow each other at once has no more recommendations than others',
  },
  {
    bug: 'an advertiser that a conversation has had twice is asked for again',
    file: 'src/gateway/recommendations/decision.ts',
    from: '[...settings.blockedAdvertisers, ...exhausted]',
    to: '[...settings.blockedAdvertisers]',
    test: 'test/e2e/recommendations.test.ts',
    title: 'an advertiser whose offers were recommended twice in a conversation is not asked for again',
  },
  {
    bug: 'an advertiser that is known only by the conversation’s id is asked for again',
    file: 'src/gateway/recommendations/decision.ts',
    from: '[seen.advertisers, restraint?.advertisers ?? []].flatMap(exhaustedAdvertisers)',
    to: '[seen.advertisers].flatMap(exhaustedAdvertisers)',
    test: 'test/e2e/recommendations.test.ts',
    title: 'an advertiser whose offers were recommended twice in a conversation is not asked for again',
  },
  {
    bug: 'an answer waits for a matcher for as long as that likes',
    file: 'src/gateway/recommendations/recommendations.ts',
    from: 'const ANSWER_WAIT_MS = 150',
    to: 'const ANSWER_WAIT_MS = 60_000',
    test: 'test/e2e/recommendations.test.ts',
    title:
      'a matcher that is slow, silent or says something odd delays no answer by more than its deadline, and breaks none',
  },
  {
    bug: 'a matcher that came too late is asked a second question',
    file: 'src/gateway/recommendations/recommendations.ts',
    from: "    if (isLate()) return { outcome: 'deadline' }\n",
    to: '',
    test: 'test/e2e/recommendation-attacks.test.ts',
    title: 'a matcher that comes too late is not asked a second question',
  },
]

/** Bugs in state that outlives a call. */
const STANDING: Mutant[] = [
  {
    bug: 'a gateway whose ledger cannot be written says that it is ready',
    file: 'src/gateway/gateway-health.ts',
    from: '...(ledger.isWritable ? []',
    to: '...(ledger ? []',
    test: 'test/integration/store-trouble.test.ts',
    title: 'a disk that is full is told in the log and by readiness, and so is its end',
  },
  {
    bug: 'key pairs that were used once are marked as just used for ever',
    file: 'src/gateway/gateway.ts',
    from: `      const used = [...ids]\n      ids.clear()\n`,
    to: `      const used = [...ids]\n`,
    test: 'test/e2e/revoked-replays.test.ts',
    title: 'a key pair was last used when it was last used, however long the gateway runs on',
  },
  {
    bug: 'what is known of a key pair is believed for a minute',
    file: 'src/gateway/authenticate.ts',
    from: 'performance.now() - cached.readAt < FRESH_MS',
    to: 'performance.now() - cached.readAt < STALE_MS',
    test: 'test/e2e/revoked-replays.test.ts',
    title: 'what is known of a key pair is believed for two seconds, and no longer',
  },
  {
    bug: 'claims of idempotency keys that an outage left behind are never given up',
    file: 'src/gateway/lease.ts',
    from: `      await statements.giveUpOrphanedKeys(db, gatewayId, [...running.keys()], ORPHAN_AFTER_MS)\n`,
    to: '',
    test: 'src/gateway/lease.test.ts',
    title: 'claims of idempotency keys that no running call has are given up with each beat',
  },
  {
    bug: 'that a provider accepts a key again is not written down',
    file: 'src/gateway/upstreams/provider-keys.ts',
    from: `  if (!isRefused) note(options, used)\n`,
    to: '',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'a refused key that is accepted again is used again, and the operator no longer sees it as refused',
  },
  {
    bug: 'the version of a provider key stays when the key is replaced',
    file: 'src/gateway/upstreams/catalogue.ts',
    from: 'return { id, version: sealed, name, secret:',
    to: 'return { id, version: id, name, secret:',
    test: 'test/e2e/failover.test.ts',
    title: 'a refused key is noted for the operator, and its replacement is used at once',
  },
  {
    bug: 'what waits to be written when a gateway stops is thrown away',
    file: 'src/gateway/recommendations/records.ts',
    from: `      await write().catch(() => {})\n`,
    to: '',
    test: 'test/e2e/recommendations.test.ts',
    title: 'what waits to be written when a gateway stops is written',
  },
  {
    bug: 'offers that are remembered of a conversation’s id do not count as seen',
    file: 'src/gateway/recommendations/decision.ts',
    from: ', ...seen.offers, ...(restraint?.offers ?? [])])],',
    to: ', ...seen.offers])],',
    test: 'test/e2e/recommendations.test.ts',
    title: 'recommendations keep their distance: by the links in the history, and by the conversation’s id',
  },
  {
    bug: 'a recommendation whose reader hung up is recorded as delivered',
    file: 'src/gateway/recommendations/recommendations.ts',
    from: "else if (isDelivered) records.setState({ id, state: 'delivered' })",
    to: "else records.setState({ id, state: 'delivered' })",
    test: 'test/e2e/recommendations.test.ts',
    title: 'a caller that is gone before its whole answer was charged has not seen the recommendation',
  },
  {
    bug: 'the models of one project may be kept by shared caches',
    file: 'src/gateway/endpoints/models.ts',
    from: '`private, max-age=${CACHE_SECONDS}`',
    to: '`public, max-age=${CACHE_SECONDS}`',
    test: 'test/conformance/models.test.ts',
    title: 'models-cache-control: The list is answered with cache-control: private, max-age=600.',
  },
]

export const GATEWAY: Mutant[] = [...CREDIT, ...RETRIES, ...ANSWERS, ...ROUTES, ...RECOMMENDATIONS, ...STANDING]
