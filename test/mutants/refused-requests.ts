import type { Mutant } from './mutant.ts'

const COLLECTED = 'src/gateway/intake/refused-requests.ts'
const COLLECTS = 'src/gateway/intake/refused-requests.test.ts'
const STORE = 'src/store/calls/refused-requests.ts'
const STORED = 'test/integration/refused-requests.test.ts'
const RULES = 'src/rules/refused-requests.ts'
const ASKED = 'test/e2e/refused-requests.test.ts'

/** Requests that are refused before they reach a model, as their publishers see them. */
export const REFUSED_REQUESTS: Mutant[] = [
  {
    bug: 'every refused request has a row of its own, also in a flood',
    file: COLLECTED,
    from: 'if (rows.length >= most) return',
    to: 'if (rows.length >= 10 * most) return',
    test: COLLECTS,
    title: 'a flood of 100,000 costs ten rows a minute, and every one is counted',
  },
  {
    bug: 'a flood with some keys hides what other keys of the project are told',
    file: COLLECTED,
    from: 'REFUSED_ROWS_PER_MINUTE.pair : 1',
    to: 'REFUSED_ROWS_PER_MINUTE.pair : 0',
    test: COLLECTS,
    title: 'who floods with one key, one code or a browser session hides nothing of the others',
  },
  {
    bug: 'a browser session that floods hides what the server is told',
    file: COLLECTED,
    from: '`${refused.keyPairId} ${refused.viaSession}`',
    to: 'refused.keyPairId',
    test: COLLECTS,
    title: 'who floods with one key, one code or a browser session hides nothing of the others',
  },
  {
    bug: 'what was written once is counted again with every write of its minute',
    file: COLLECTED,
    from: '      waiting.clear()\n',
    to: '',
    test: COLLECTS,
    title: 'what comes after a write is added to the rows of its minute, and to nothing else',
  },
  {
    bug: 'refused requests that the store did not take are not counted',
    file: COLLECTED,
    from: "metrics.refusedDropped.inc({ why: 'store' }, timesIn(rows.slice(n)))",
    to: '',
    test: COLLECTS,
    title: 'while the store is away they are given up, counted, and do not pile up',
  },
  {
    bug: 'there is no end to the refused requests of an hour',
    file: STORE,
    from: 'p.is_there or p.place + h.rows <= ',
    to: 'true or p.place + h.rows <= ',
    test: STORED,
    title: 'a code of a key pair has 60 rows an hour however many processes write, and the rest is counted',
  },
  {
    bug: 'who floods with one key pair uses up the rows of another',
    file: STORE,
    from: 'and r.code = p.code and r.key_pair_id = p.key_pair_id\n',
    to: 'and r.code = p.code\n',
    test: STORED,
    title: 'a code of a key pair has 60 rows an hour however many processes write, and the rest is counted',
  },
  {
    bug: 'two gateways that add to the same refused requests lock them in any order',
    file: STORE,
    from: 'select distinct on (target) target, project_id',
    to: 'select distinct on (md5(target::text)) target, project_id',
    test: STORED,
    title: 'two processes that add to many of the same rows at once never wait for each other in a circle',
  },
  {
    bug: 'whoever names a request id is shown what another publisher was told',
    file: STORE,
    from: 'where r.id = ${id}::uuid and r.project_id = ${projectId}`',
    to: 'where r.id = ${id}::uuid`',
    test: 'test/integration/store-scopes.test.ts',
    title: 'findRefusedRequest reads nothing of another site',
  },
  {
    bug: 'a gateway adds to a row of another project',
    file: STORE,
    from: '\n      where r.project_id = excluded.project_id`',
    to: '`',
    test: 'test/integration/store-scopes.test.ts',
    title: 'addRefusedRequests changes nothing of another site',
  },
  {
    bug: 'the refused requests of a deleted project stay',
    file: 'src/worker/retention/forget-refused-requests.ts',
    from: '      await untilNoneIsLeft((most) => forgetRefusedOfDeleted(db, keptMs, most), erased)\n',
    to: '',
    test: 'test/integration/worker-retention.test.ts',
    title: 'a refused request is forgotten after 14 days, and at once when its project is deleted',
  },
  {
    bug: 'a path that holds a key is noted',
    file: RULES,
    from: ' && !KEY_PREFIX.test(path)',
    to: '',
    test: 'src/rules/refused-requests.test.ts',
    title: 'of a path that does not exist what is harmless is noted, and never a key or a query',
  },
  {
    bug: 'a wrong secret beside a known publishable key is not noted',
    file: 'src/gateway/authenticate.ts',
    from: '{ keyOwner: ownerOfFound(record) } : {}',
    to: '{} : {}',
    test: ASKED,
    title: 'what an integration stumbles over is noted with code, field, key and request id',
  },
  {
    bug: 'whoever knows a publishable key can note unknown paths for its owner',
    file: 'src/gateway/intake/key-owners.ts',
    from: 'return ownerOf(await authenticate(keys))',
    to: 'return await ownerOfKey(keys)',
    test: ASKED,
    title: 'calls that reach a model are not noted, nor is what nobody owns',
  },
]
