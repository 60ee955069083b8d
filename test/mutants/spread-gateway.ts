import type { Mutant } from './mutant.ts'

/** Planted evenly over the folder by somebody who had not seen the tests. */
export const SPREAD_GATEWAY: Mutant[] = [
  {
    bug: 'what was learned of answer lengths and token ratios is sorted as text: 1000 comes before 9',
    file: 'src/gateway/model-statistics.ts',
    from: 'sorted = ring.toSorted((a, b) => a - b)',
    to: 'sorted = ring.toSorted()',
    test: 'src/gateway/model-statistics.test.ts',
    title: 'what was learned is ranked as numbers, however many digits they have',
  },
  {
    bug: 'writes of conversations are not remembered while they run',
    file: 'src/gateway/conversations.ts',
    from: '      running.add(write)\n',
    to: '',
    test: 'test/integration/store-trouble.test.ts',
    title:
      'at most 500 turns of conversations wait for the store, stopping waits for them all, and the next finds room',
  },
  {
    bug: 'stopping does not wait for conversations that are being written',
    file: 'src/gateway/conversations.ts',
    from: '      await Promise.all(running)\n',
    to: '',
    test: 'test/integration/store-trouble.test.ts',
    title:
      'at most 500 turns of conversations wait for the store, stopping waits for them all, and the next finds room',
  },
  {
    bug: 'when a route works again for everybody, it stays closed to the publishers for whom it had failed',
    file: 'src/gateway/breakers.ts',
    from: '    if (!everybodys.open) closeAll()\n',
    to: '',
    test: 'src/gateway/upstreams.test.ts',
    title: 'a route that works again for everybody is open at once to those for whom it had failed',
  },
  {
    bug: 'a caller that reads too slowly counts as a failure of the provider',
    file: 'src/gateway/answer.ts',
    from: "admission.ended(error.kind === 'reader_stalled' ? 'left' : error)",
    to: 'admission.ended(error)',
    test: 'src/gateway/answer.test.ts',
    title: 'a caller who reads too slowly is no failure of the provider',
  },
  {
    bug: 'importing prices writes what cached input costs into what cache writes cost',
    file: 'src/store/price-import.ts',
    from: 'cost_cache_write = c.cache_write, cost_output',
    to: 'cost_cache_write = c.cached_input, cost_output',
    test: 'test/integration/price-import.test.ts',
    title: 'a route learns its cost of every class of tokens, when it is made and when it changes',
  },
  {
    bug: 'what was spent in seven days leaves out the first of them',
    file: 'src/store/wallet-ledger.ts',
    from: 'where project_id = ${projectId} and starts_at >= ${since}`.execute(db)',
    to: 'where project_id = ${projectId} and starts_at > ${since}`.execute(db)',
    test: 'test/integration/console-wallet.test.ts',
    title:
      'what was spent in 7 days is that of today and of the six days before it, from the first moment of a day to its last',
  },
  {
    bug: 'each attempt starts the time of a limit anew',
    file: 'src/store/throttles.ts',
    from: "started_at = case when t.started_at > now() - ${windowMs} * interval '1 ms' then t.started_at else now() end",
    to: 'started_at = now()',
    test: 'test/integration/sign-in-limits.test.ts',
    title: 'the time of a limit runs from the first attempt: whoever goes on trying waits no longer',
  },
  {
    bug: 'models whose first price takes effect only later count as served',
    file: 'src/store/served-models.ts',
    from: 'where p.model_id = m.id and p.effective_from <= now())',
    to: 'where p.model_id = m.id)',
    test: 'test/integration/console-project-settings.test.ts',
    title: 'a project may be narrowed to models that are served, and opened to all again',
  },
  {
    bug: 'when the boundary falls behind what is rolled up, the progress is set back and calls are counted twice',
    file: 'src/store/usage-roll-up.ts',
    from: '    if (to < from) return from\n',
    to: '',
    test: 'test/integration/usage-roll-up.test.ts',
    title: 'a boundary behind what is counted moves nothing back, and nothing is counted twice',
  },
]
