import type { Mutant } from './mutant.ts'

const TEST = 'test/integration/webhooks.test.ts'

export const WEBHOOKS: Mutant[] = [
  {
    bug: 'a later event of an object is sent while an earlier one waits to be tried again',
    file: 'src/store/projects/webhook-deliveries.ts',
    from: 'select distinct on (d.endpoint_id, d.object_key) d.id',
    to: 'select distinct on (d.endpoint_id, d.object_key, d.seq) d.id',
    test: TEST,
    title: 'what fails holds back its own object and no other, and is given up after three days',
  },
  {
    bug: 'a publisher with many endpoints has every place',
    file: 'src/store/projects/webhook-deliveries.ts',
    from: ' and o.place <= ${perPublisher}::int\n',
    to: ' and ${perPublisher}::int > 0\n',
    test: TEST,
    title: 'one publisher has at most 8 tries at once, and its many events do not go before the one of another',
  },
  {
    bug: 'whoever has many events goes before everybody else',
    file: 'src/store/projects/webhook-deliveries.ts',
    from: 'order by o.place, o.next_attempt_at limit',
    to: 'order by o.next_attempt_at limit',
    test: TEST,
    title: 'one publisher has at most 8 tries at once, and its many events do not go before the one of another',
  },
  {
    bug: 'a webhook is signed without its id',
    file: 'src/rules/webhooks.ts',
    from: '`${event.id}.${timestamp}.${event.body}`',
    to: '`${timestamp}.${event.body}`',
    test: 'src/rules/webhooks.test.ts',
    title: 'a signature is the one that Standard Webhooks gives as its example',
  },
  {
    bug: 'the old secret of an endpoint signs no longer from the moment that it is rolled',
    file: 'src/worker/deliver-webhooks.ts',
    from: 'oldSealedSecret === null ? [sealedSecret] : [sealedSecret, oldSealedSecret]',
    to: 'oldSealedSecret === null ? [sealedSecret] : [sealedSecret]',
    test: TEST,
    title: 'both secrets sign for a day after one is rolled, and then only the new one',
  },
  {
    bug: 'an endpoint that answers with a redirect has taken the event',
    file: 'src/worker/post-webhook.ts',
    from: "if (status >= 300 && status < 400) return { error: 'redirect', status }",
    to: 'if (status >= 300 && status < 400) return { status }',
    test: TEST,
    title: 'each way to fail has its own name, and a redirect is not followed',
  },
  {
    bug: 'a server that changes the protocol is taken for one that hangs up',
    file: 'src/actions/public-connection.ts',
    from: "    reject(new UnaskedUpgrade('the server changed the protocol'))\n",
    to: '',
    test: TEST,
    title: 'each way to fail has its own name, and a redirect is not followed',
  },
  {
    bug: 'a server that changes the protocol is waited for for ever',
    file: 'src/actions/public-connection.ts',
    from: `  asking.on('upgrade', (_, socket) => {
    socket.destroy()
    reject(new UnaskedUpgrade('the server changed the protocol'))
  })
  asking.on('close', () => reject(new Error('closed without an answer')))
  deadline.addEventListener('abort', () => reject(deadline.reason as Error), { once: true })
`,
    to: '',
    test: 'test/integration/domain-check.test.ts',
    title: 'a website that changes the protocol, or hangs up without a word, is given up at once',
  },
  {
    bug: 'an event is sent to a private address',
    file: 'src/actions/public-connection.ts',
    from: "  if (!addresses.every(isAllowed)) return { refusal: 'address_not_public' }\n",
    to: '',
    test: TEST,
    title:
      'a name that leads to a private address is refused, however its addresses are mixed, and nothing is connected to',
  },
  {
    bug: 'two workers have the same delivery',
    file: 'src/store/projects/webhook-deliveries.ts',
    from: "leased_until = now() + ${leaseMs} * interval '1 ms'\n    from webhook_events",
    to: 'leased_until = now()\n    from webhook_events',
    test: TEST,
    title: 'two workers that look at the same moment never have the same delivery, and of one object only the first',
  },
  {
    bug: 'a worker that has lost its lease overwrites what another one has found',
    file: 'src/store/projects/webhook-deliveries.ts',
    from: "    where id = ${id} and attempts = ${attempts} and state = 'pending' returning state",
    to: '    where id = ${id} returning state',
    test: TEST,
    title: 'a worker whose lease ran out writes nothing over what another one has found since',
  },
  {
    bug: 'nobody is told of a new key pair',
    file: 'src/actions/projects/key-pairs.ts',
    from: '  await postCreated(tx, pair, null)\n',
    to: '',
    test: 'test/integration/webhook-events.test.ts',
    title: 'what is done to keys, money and domains is told in the same transaction, and only where it is wanted',
  },
  {
    bug: 'an alert closes as soon as its value is below the threshold',
    file: 'src/rules/alerts.ts',
    from: "percent < threshold / 2 ? 'under' : 'between'",
    to: "'under'",
    test: 'src/rules/alerts.test.ts',
    title: 'each rule opens at its threshold, closes well below it, and leaves things alone in between',
  },
  {
    bug: 'an alert that opens and closes all the time is told each time',
    file: 'src/actions/projects/alerts.ts',
    from: 'const isTold = (await store.countToldOfDay(tx, project.id, judged)) < TOLD_PER_DAY',
    to: 'const isTold = true',
    test: 'test/integration/worker-alerts.test.ts',
    title:
      'an alert that opens for the seventh time in a day is listed, and told neither when it opens nor when it closes',
  },
  {
    bug: 'an alert tells of a low balance that the low-balance email tells of already',
    file: 'src/actions/projects/alerts.ts',
    from: " || (kind === 'low_balance' && hasBalanceMail)",
    to: '',
    test: 'test/integration/worker-alerts.test.ts',
    title:
      'one low balance is one mail: the job of the low-balance email sends it where an amount is set, and the alert where none is',
  },
]
