import type { Mutant } from './mutant.ts'

/** Planted evenly over the folders by somebody who had not seen the tests. */
export const SPREAD_GATEWAY: Mutant[] = [
  {
    bug: 'the keys of a provider no longer take turns: the first one is always tried first',
    file: 'src/gateway/upstreams/provider-keys.ts',
    from: `    turns.set(providerId, (turn + 1) % keys.length)
`,
    to: '',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'the keys of a provider are used in turn, over all its deployments',
  },
  {
    bug: 'requests that are refused before they become a call (401, 403, 404, 413) are no longer counted among the errors',
    file: 'src/gateway/observe.ts',
    from: `    metrics.errors.inc({ code: refusal.code })
`,
    to: '',
    test: 'test/e2e/call-pictures.test.ts',
    title: 'a body that is no JSON',
  },
  {
    bug: 'models without a price in force or without any deployment are visible to callers',
    file: 'src/gateway/upstreams/catalogue.ts',
    from: 'return isServed(model, Date.now()) && (caller.allowedModels === null || caller.allowedModels.includes(model.id))',
    to: 'return caller.allowedModels === null || caller.allowedModels.includes(model.id)',
    test: 'test/e2e/call-pictures.test.ts',
    title: 'a receipt, the list of models, and what is not there',
  },
  {
    bug: 'the redirect to an advertiser lacks referrer-policy, cache-control and x-robots-tag',
    file: 'src/gateway/recommendations/links.ts',
    from: 'return reply.headers(READER_HEADERS).redirect(first, 302)',
    to: 'return reply.redirect(first, 302)',
    test: 'test/e2e/recommendations.test.ts',
    title: 'the link leads to the offer and nowhere else, and the other one says why',
  },
  {
    bug: 'the usage event is sent in every stream, also where stream_options.include_usage was not asked for',
    file: 'src/gateway/response/chat-wire.ts',
    from: `          if (!includeUsage) return ''
`,
    to: '',
    test: 'test/e2e/call-pictures.test.ts',
    title: 'a streamed answer with tokens of every kind',
  },
  {
    bug: 'after a batch was written, rows that were added while it was being written are thrown away with it',
    file: 'src/gateway/recommendations/records.ts',
    from: `    waiting.splice(0, batch.length)
`,
    to: `    waiting.splice(0, PER_STATEMENT_MAX)
`,
    test: 'test/e2e/recommendation-attacks.test.ts',
    title:
      'a row that the store refuses is given up alone, and a stop in the middle of writing loses and doubles nothing',
  },
  {
    bug: 'A key pair that was proven a moment ago is no longer believed while the store is away',
    file: 'src/gateway/authenticate.ts',
    from: `        if (believed) return believed
`,
    to: '',
    test: 'test/conformance/unavailable.test.ts',
    title: 'order-store-not-401: A valid pair is never answered 401 because a database is down: that is 503.',
  },
  {
    bug: 'A call with an Idempotency-Key is cancelled when its caller hangs up',
    file: 'src/gateway/serve-call.ts',
    from: 'if (res.writableFinished || call.idempotencyKey !== undefined) return',
    to: 'if (res.writableFinished) return',
    test: 'test/e2e/idempotency.test.ts',
    title: 'a caller that lost its connection midway gets the whole answer when it asks again, and pays once',
  },
  {
    bug: 'thoughts that were shown before an interim report are counted again on top of that report',
    file: 'src/gateway/metering/conclusion.ts',
    from: 'reasoning: reported.reasoning + counted.reasoning - shownThen }',
    to: 'reasoning: reported.reasoning + counted.reasoning }',
    test: 'src/gateway/metering/meter.test.ts',
    title: 'thoughts that were shown after a report of them are added to it, and those before are not',
  },
  {
    bug: 'the length of a recommendation is told in bytes instead of characters',
    file: 'src/gateway/recommendations/recommendations.ts',
    from: 'characters: text.length }',
    to: 'characters: Buffer.byteLength(text) }',
    test: 'test/e2e/recommendations.test.ts',
    title: 'a fitting answer ends with one labelled recommendation, which is neither counted nor charged',
  },
  {
    bug: 'A long prompt whose sampled estimate is up to a quarter beyond the context window is neither counted nor refused',
    file: 'src/gateway/metering/prompt.ts',
    from: 'return tokens > contextWindow / SAMPLE_LEEWAY && tokens <= contextWindow * SAMPLE_LEEWAY',
    to: 'return tokens > contextWindow / SAMPLE_LEEWAY && tokens <= contextWindow',
    test: 'src/gateway/metering/prompt.test.ts',
    title: 'a long prompt is refused by its samples, if it is far too long, and else counted',
  },
  {
    bug: 'when the wallet grants less than was wanted, max_tokens is not lowered to what the hold pays for',
    file: 'src/gateway/hold.ts',
    from: 'outputTokensFor(granted, prompt.tokens, price, outputTokens)',
    to: 'outputTokensFor(want, prompt.tokens, price, outputTokens)',
    test: 'test/e2e/wallet-limits.test.ts',
    title: 'max_tokens is lowered to what the wallet pays for, and the answer ends with length',
  },
  {
    bug: 'A chunk that does not fit the hold is refused at once, without waiting for the extension that was just asked for',
    file: 'src/gateway/metering/meter.ts',
    from: `    const growing = growth.start()
    return fits || growing.then(() => growth.isEnough(spentNow <= held()))
`,
    to: `    void growth.start()
    return fits
`,
    test: 'src/gateway/metering/meter.test.ts',
    title: 'a chunk that does not fit waits for the hold to grow, and is admitted only if it has grown enough',
  },
  {
    bug: 'what was learned of answer lengths and token ratios is sorted as text: 1000 comes before 9',
    file: 'src/gateway/metering/ranked.ts',
    from: 'numbers.toSorted((a, b) => a - b)',
    to: 'numbers.toSorted()',
    test: 'src/gateway/metering/model-statistics.test.ts',
    title: 'what was learned is ranked as numbers, however many digits they have',
  },
  {
    bug: 'writes of conversations are not remembered while they run',
    file: 'src/gateway/conversations/turns.ts',
    from: '      running.add(written)\n',
    to: '',
    test: 'test/integration/store-trouble.test.ts',
    title: 'half of the 500 turns that wait are for all others, stopping waits for every one, and the next finds room',
  },
  {
    bug: 'stopping does not wait for conversations that are being written',
    file: 'src/gateway/conversations/turns.ts',
    from: '      await Promise.all(running)\n',
    to: '',
    test: 'test/integration/store-trouble.test.ts',
    title: 'half of the 500 turns that wait are for all others, stopping waits for every one, and the next finds room',
  },
  {
    bug: 'when a deployment works again for everybody, it stays closed to the publishers for whom it had failed',
    file: 'src/gateway/upstreams/breakers.ts',
    from: '    if (!everybodys.open) closeAll()\n',
    to: '',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'a deployment that works again for everybody is open at once to those for whom it had failed',
  },
  {
    bug: 'a caller that reads too slowly counts as a failure of the provider',
    file: 'src/gateway/upstreams/answer.ts',
    from: "error.kind === 'reader_stalled' || ",
    to: '',
    test: 'src/gateway/upstreams/answer.test.ts',
    title: 'a caller who reads too slowly is no failure of the provider',
  },
  {
    bug: 'repeats at the only route are never taken out of the budget',
    file: 'src/gateway/upstreams/upstreams.ts',
    from: '      budget = spent\n',
    to: '',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'the only deployment is repeated as long as the budget lasts',
  },
  {
    bug: 'a later 429 shortens the rest of a key',
    file: 'src/gateway/upstreams/provider-keys.ts',
    from: 'whose.untilMs = Math.max(whose.untilMs, untilMs)',
    to: 'whose.untilMs = untilMs',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'of several 429s the one that asks for the longest rest counts, whichever comes last',
  },
  {
    bug: 'the time to the first token is counted in milliseconds',
    file: 'src/gateway/observe.ts',
    from: 'facts.firstTokenMs / 1000)',
    to: 'facts.firstTokenMs)',
    test: 'src/gateway/observe.test.ts',
    title: 'latencies are counted in seconds, the first token’s and the whole call’s each for itself',
  },
  {
    bug: 'a call is sent to routes that cannot honour it',
    file: 'src/gateway/upstreams/catalogue.ts',
    from: 'return { model, price, deployments: able }',
    to: 'return { model, price, deployments }',
    test: 'test/e2e/anthropic.test.ts',
    title: 'what Anthropic has no word for goes to the next route that has, and everything else to Anthropic',
  },
  {
    bug: 'the list of models tells the context window as the longest answer',
    file: 'src/gateway/endpoints/models.ts',
    from: '{ max_output_tokens: model.maxOutputTokens }',
    to: '{ max_output_tokens: model.contextWindow }',
    test: 'test/e2e/call-pictures.test.ts',
    title: 'a receipt, the list of models, and what is not there',
  },
  {
    bug: 'the breaks of a slow reader are not added up',
    file: 'src/gateway/response/caller-stream.ts',
    from: 'breaksMs += performance.now() - brokeOffAtMs',
    to: 'breaksMs = performance.now() - brokeOffAtMs',
    test: 'src/gateway/response/caller-stream.test.ts',
    title: 'a caller may take breaks, but all of them together have an end',
  },
  {
    bug: 'a caller that stalled is forgotten to have stalled once it is gone, and what waits in the buffers is not read on',
    file: 'src/gateway/response/caller-stream.ts',
    from: 'return Promise.race([made.promise.then(() => onStall?.(false)), gone.promise])',
    to: 'return Promise.race([made.promise, gone.promise]).finally(() => onStall?.(false))',
    test: 'src/gateway/response/respond.test.ts',
    title: 'a caller that does not read stops the upstream, and is cut off when it stays that way',
  },
  {
    bug: 'an answer that ended with the credit is missing in its conversation',
    file: 'src/gateway/chat-completions.ts',
    from: 'gateway.conversations.record(call, request, isWorkedOn, isAnswered ? reply.message() : undefined)',
    to: 'gateway.conversations.record(call, request, isWorkedOn, undefined)',
    test: 'test/e2e/wallet-limits.test.ts',
    title: 'an answer that was cut where the wallet ends is kept: in its conversation, and for a retry with its key',
  },
  {
    bug: 'one publisher whose probes fail keeps a deployment closed to everybody',
    file: 'src/rules/upstreams/blame.ts',
    from: 'return probe.lastFailedOf !== undefined && probe.lastFailedOf !== probe.publisherId',
    to: 'return true',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title: 'a probe for everybody keeps the deployment closed when it fails for two publishers, one after the other',
  },
  {
    bug: 'thoughts that were shown before a report are counted twice',
    file: 'src/gateway/metering/conclusion.ts',
    from: 'if (soFar && answer.seen.thoughtBytes > 0)',
    to: 'if (!soFar && answer.seen.thoughtBytes > 0)',
    test: 'src/gateway/metering/meter.test.ts',
    title: 'thoughts that were shown after a report of them are added to it, and those before are not',
  },
  {
    bug: 'recommendations in test mode count as delivered',
    file: 'src/gateway/recommendations/recommendations.ts',
    from: `      if (isTest || isPlayground) records.setState({ id, state: 'test' })
      else if (isDelivered) records.setState({ id, state: 'delivered' })
`,
    to: `      if (isDelivered) records.setState({ id, state: 'delivered' })
      else if (isTest || isPlayground) records.setState({ id, state: 'test' })
`,
    test: 'test/e2e/recommendation-pictures.test.ts',
    title: 'test mode in a stream',
  },
  {
    bug: 'the only deployment is asked again and again',
    file: 'src/gateway/upstreams/answer.ts',
    from: `      mayRepeat = false
`,
    to: '',
    test: 'src/gateway/upstreams/answer.test.ts',
    title: 'the only deployment is asked once more after what may pass, and no more',
  },
  {
    bug: 'pairs that were used once are written as used for ever',
    file: 'src/gateway/gateway.ts',
    from: `      ids.clear()
`,
    to: '',
    test: 'test/integration/console-keys.test.ts',
    title: 'a pair’s last use is when a call came, and not when a gateway last wrote such times',
  },
  {
    bug: 'while the store is away, a deleted conversation goes on',
    file: 'src/gateway/conversations/conversations.ts',
    from: `.catch(() => {
      throw storeUnavailable()
    })`,
    to: '.catch(() => ({ isDeleted: false, opening: undefined }))',
    test: 'test/integration/store-trouble.test.ts',
    title:
      'whether a conversation was deleted is not guessed: while the store cannot say it, calls of conversations are refused',
  },
  {
    bug: 'payments are offered with half of the secrets that they need',
    file: 'src/serve.ts',
    from: 'config.PARLEY_STRIPE_SECRET_KEY !== undefined && config.PARLEY_STRIPE_WEBHOOK_SECRET !== undefined',
    to: 'config.PARLEY_STRIPE_SECRET_KEY !== undefined || config.PARLEY_STRIPE_WEBHOOK_SECRET !== undefined',
    test: 'test/integration/console-wallet.test.ts',
    title: 'without the secret that payments are confirmed by, none can be begun',
  },
]
