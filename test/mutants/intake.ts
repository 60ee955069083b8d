import type { Mutant } from './mutant.ts'

/** Bugs in what one caller may take before its body is read, and in what it may spoil for others. */
export const INTAKE: Mutant[] = [
  {
    bug: 'who guesses keys is counted towards no limit',
    file: 'src/gateway/server.ts',
    from: '    intake.greet(request.ip) // 429\n',
    to: '',
    test: 'test/integration/intake.test.ts',
    title: 'an address that asks too often is refused with 429 and Retry-After; wrong keys count as much as right ones',
  },
  {
    bug: 'a request that is no call keeps its place',
    file: 'src/gateway/server.ts',
    from: '      if (!request.isCall) request.admission.release()\n',
    to: '',
    test: 'test/integration/intake.test.ts',
    title: 'an upload takes a place while it comes, and gives it back when it ends in whatever way',
  },
  {
    bug: 'a large body without content-length is read for an empty wallet',
    file: 'src/gateway/intake/read-body.ts',
    from: 'const most = admission.bodyBytesMax ?? BODY_BYTES_MAX',
    to: 'const most = BODY_BYTES_MAX',
    test: 'test/integration/intake.test.ts',
    title:
      'a large body is not read for an empty wallet: 403 before it comes, and as soon as it passes 64 KiB when it does not say',
  },
  {
    bug: 'the rest of a refused body is read and thrown away',
    file: 'src/gateway/response/refuse.ts',
    from: '  request.read(0)\n',
    to: '',
    test: 'test/integration/intake.test.ts',
    title: 'the rest of a body that is refused is not read, and its connection ends when the answer has arrived',
  },
  {
    bug: 'an upload that drips is never ended',
    file: 'src/gateway/intake/read-body.ts',
    from: 'return elapsedMs > UPLOAD_GRACE_MS && bytes < (elapsedMs / 1_000) * uploadBytesPerSecond',
    to: 'return false',
    test: 'test/integration/intake.test.ts',
    title: 'an upload that brings nothing for a while is ended with 408, and so is one that drips',
  },
  {
    bug: 'when all is taken, nobody gets in any more',
    file: 'src/rules/calls/shares.ts',
    from: 'return taken.account + asked <= Math.max(asked, limits.all / taken.accounts) ? undefined : ',
    to: 'return ',
    test: 'src/rules/calls/shares.test.ts',
    title: 'when everything is taken, who has less than an equal part gets in, and who has one does not',
  },
  {
    bug: 'who asks below its rate is refused after a burst for ever',
    file: 'src/rules/calls/token-bucket.ts',
    from: 'Math.min(before.tokens + ((nowMs - before.atMs) / 1_000) * perSecond, burst)',
    to: 'Math.min(before.tokens, burst)',
    test: 'src/rules/calls/token-bucket.test.ts',
    title: 'ten seconds of requests pass at once, and from then on as many a second as the rate says',
  },
  {
    bug: 'the process does not rest from large bodies',
    file: 'src/gateway/intake/work.ts',
    from: 'restFor(totalMs, queue.callNext)',
    to: 'queue.callNext()',
    test: 'src/gateway/intake/work.test.ts',
    title: 'after long work the process rests from it for as long as it took, and small work goes on',
  },
  {
    bug: 'work for requests that are refused is not counted',
    file: 'src/gateway/intake/work.ts',
    from: `      try {
        return doing()
      } finally {
        charge(publisherId, workedMs() - sinceMs)
      }`,
    to: `      const result = doing()
      charge(publisherId, workedMs() - sinceMs)
      return result`,
    test: 'src/gateway/intake/work.test.ts',
    title:
      'a project may cause its part of the time for ten seconds at once, also by requests that are refused, and then waits',
  },
  {
    bug: 'arrays may be of any length',
    file: 'src/platform/json.ts',
    from: '++items >= itemsMax',
    to: '++items < 0',
    test: 'src/platform/json.test.ts',
    title: 'items of arrays are counted over the whole body',
  },
  {
    bug: 'an amount beyond what the ledger can store travels to it',
    file: 'src/rules/billing/pricing.ts',
    from: 'return cost < NANOS_MAX ? cost : NANOS_MAX',
    to: 'return cost',
    test: 'src/rules/billing/pricing.test.ts',
    title: 'no cost is more than the ledger can store, however many tokens there are',
  },
  {
    bug: 'a store that is away is taken for an empty wallet',
    file: 'src/gateway/metering/meter.ts',
    from: '    if (!isPaidFor && this.#unknown) throw this.#unknown.cause\n',
    to: '',
    test: 'src/gateway/metering/meter.test.ts',
    title:
      'while nobody can say what the wallet has, what is held is used, and then the meter throws instead of ending the answer',
  },
  {
    bug: 'one publisher that is answered 429 makes the key rest for everybody',
    file: 'src/rules/upstreams/witnesses.ts',
    from: 'return isOther(refused[trouble]) || !users.some(isOther)',
    to: 'return true',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title:
      'a 429 that one publisher is answered makes the key rest for that one; for everybody when another is answered so',
  },
]
