import type { Mutant } from './mutant.ts'

/** Bugs in fallback models, and in the entry of a single model. */
export const FALLBACKS: Mutant[] = [
  {
    bug: 'a model to fall back on is charged at the price of the model that was asked for',
    file: 'src/gateway/hold.ts',
    from: '...(route === routes[0] ? {} : chargedAs(route))',
    to: '...(route === routes[0] ? {} : chargedAs(routes[0]))',
    test: 'test/e2e/fallbacks.test.ts',
    title: 'when every route of the first model fails, the next one answers, is named, and is charged at its own price',
  },
  {
    bug: 'credit is held for the first model alone, whatever those to fall back on cost',
    file: 'src/gateway/hold.ts',
    from: 'return a > b ? a : b',
    to: 'return a',
    test: 'test/e2e/fallbacks.test.ts',
    title: 'credit is held for the dearest, whichever is asked first',
  },
  {
    bug: 'a stored answer is given again under the name of the model that failed',
    file: 'src/gateway/paid-call.ts',
    from: '  call.progress.model = stored.model ?? call.progress.model\n',
    to: '',
    test: 'test/e2e/fallbacks.test.ts',
    title: 'a retry with the same Idempotency-Key is told the model that answered, and charged once',
  },
  {
    bug: 'a project is shown a model that it may not use, under its id',
    file: 'src/gateway/endpoints/models.ts',
    from: "if (!model) throw new ParleyError('no_such_model')",
    to: 'if (!model) return sendCached({}, request, reply)',
    test: 'test/conformance/models.test.ts',
    title: 'models-one: GET /v1/models/{id} is one entry of the list; 404 if it is not in the list.',
  },
]
