/**
 * `npm run fields`: every field of a request meets every provider format, as JSON and as a stream. It is honoured in the
 * provider's own words or refused with 422, and never silently dropped.
 *
 *   npm run fields -- [--format anthropic] [--field reasoning_effort]
 *   npm run fields -- --docs      # writes docs/fields.md from the table
 *   npm run fields -- --check     # is it what the table says?
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { verdictOf, type Result, type Verdict } from '../faults/verdict.ts'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import { addModel, addProvider, createWorld, until, type World } from '../support/world.ts'
import { DOCS, pageOf } from './docs.ts'
import { FORMAT_NAMES, FORMATS } from './formats.ts'
import { missingFields, planOf, TABLE, unsaid, type Cell } from './table.ts'
import { markIn, modelOf, tryCell, type Sent } from './trial.ts'

const AT_ONCE = 16

const { values: options } = parseArgs({
  options: {
    format: { type: 'string' },
    field: { type: 'string' },
    docs: { type: 'boolean' },
    check: { type: 'boolean' },
  },
})
// Until the verdict says otherwise: also a run that ends before it is a failure.
process.exitCode = 1
if (options.docs) {
  writeFileSync(DOCS, pageOf(TABLE))
  process.exitCode = 0
} else if (options.check) {
  const isFresh = readFileSync(DOCS, 'utf8') === pageOf(TABLE)
  console.log(isFresh ? 'docs/fields.md is what the table says' : 'docs/fields.md is stale: npm run fields -- --docs')
  process.exitCode = isFresh ? 0 : 1
} else {
  await globalSetup()
  try {
    const verdict = await judge(planOf(options))
    for (const problem of verdict.problems) console.log(`FAILED ${problem.replaceAll('\n', '\n    ')}`)
    console.log(`fields: ${verdict.passed} passed, ${verdict.failed} failed`)
    process.exitCode = verdict.failed === 0 ? 0 : 1
  } finally {
    await globalTeardown()
  }
}

async function judge(cells: readonly Cell[]): Promise<Verdict> {
  const sent: Sent = new Map()
  const world = await createWorld({
    onCall: ({ body }) => sent.set(markIn(body), [...(sent.get(markIn(body)) ?? []), body]),
  })
  try {
    await addRoutes(world, cells)
    const results: Result[] = []
    const waiting = [...cells]
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let cell = waiting.shift(); cell; cell = waiting.shift()) results.push(await tryCell(world, sent, cell))
      }),
    )
    const others = [
      ...missingFields().map((field) => `nothing is said of ${field}`),
      ...unsaid().map((place) => `nothing is said of ${place}`),
    ]
    const planned = cells.map(({ id }) => id)
    return verdictOf(planned, results, others)
  } finally {
    await world.close()
  }
}

async function addRoutes({ store, secrets, simulator, url, project }: World, cells: readonly Cell[]): Promise<void> {
  for (const name of FORMAT_NAMES) {
    const { kind, basePath, settings } = FORMATS[name]
    await addProvider(store, secrets, name, `${simulator.url}${basePath}`, { kind, settings: { ...settings } })
  }
  const routes = new Map(cells.map((cell) => [modelOf(cell), cell]))
  for (const [id, { format, model }] of routes)
    await addModel(store, { id, provider: format, upstreamModel: model, maxOutputTokens: 64_000 })
  await until(async () => {
    const response = await fetch(`${url}/v1/models`, { headers: project.headers })
    const { data } = (await response.json()) as { data: { id: string }[] }
    const served = new Set(data.map(({ id }) => id))
    return [...routes.keys()].every((id) => served.has(id))
  })
}
