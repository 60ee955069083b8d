import type { Mutant } from './mutant.ts'

/** Bugs in the description of the API, and in how it is served. */
export const DOCS: Mutant[] = [
  {
    bug: 'the description does not say that a call can be refused because a payment was taken back',
    file: 'src/rules/openapi/error-answers.ts',
    from: `  'credit_owed',\n`,
    to: '',
    test: 'test/openapi.test.ts',
    title: 'every error that the gateway gives is described with its status, where docs/errors.md explains it',
  },
  {
    bug: 'the description takes any content of a message',
    file: 'src/rules/openapi/json-schema.ts',
    from: `      if (array) Object.assign`,
    to: `      if (!array) Object.assign`,
    test: 'test/openapi.test.ts',
    title: 'the schemas and the checks take and refuse the same values of every field',
  },
  {
    bug: 'an endpoint is served and not described',
    file: 'src/gateway/server.ts',
    from: `  app.get('/v1/credits', admitted,`,
    to: `  app.get('/v1/balance', admitted, (request, reply) => answerCredits(gateway, request, reply))
  app.get('/v1/credits', admitted,`,
    test: 'test/openapi.test.ts',
    title: 'the router, the description and the table in docs/api.md have the same endpoints',
  },
  {
    bug: 'a receipt is described without its cache',
    file: 'src/rules/openapi/answers.ts',
    from: `  cache: z.strictObject({ read_tokens: count, written_tokens: count, saved_nanos: nanos }),\n`,
    to: '',
    test: 'test/e2e/openapi.test.ts',
    title: 'what is read is answered as described',
    isStory: true,
  },
  {
    bug: 'who does not take gzip is told that they have the text already by the tag of the other one',
    file: 'src/platform/cached-text.ts',
    from: `\${digest}\${isGzip ? '-gzip' : ''}`,
    to: '${digest}',
    test: 'src/platform/cached-text.test.ts',
    title: 'who has it already is told so, in the encoding that they have',
  },
  {
    bug: 'links of a guide lead to files that are not served',
    file: 'dashboard/src/pages/docs/published.ts',
    from: 'guide ? `[${words}](/docs/${guide.name}.md${hash})` : words',
    to: '`[${words}](/docs/${guide?.name ?? target}.md${hash})`',
    test: 'dashboard/src/pages/docs/published.test.ts',
    title: 'links lead to pages that are served, and words stay where there is none',
  },
]
