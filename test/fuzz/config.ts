/** Configuration as operators may write it: variables, settings of providers, price files and arguments of commands. */
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommanderError } from 'commander'
import * as args from '../../src/cli/arguments.ts'
import { readPriceFile } from '../../src/cli/catalogue/price-file.ts'
import { expectUsable, readSettings, readStoredSettings } from '../../src/cli/catalogue/provider-settings.ts'
import { CliError } from '../../src/cli/failures.ts'
import { ConfigError, readConfig, VARIABLES } from '../../src/config.ts'
import { PROVIDER_KINDS } from '../../src/providers/create-provider.ts'
import { PRESETS } from '../../src/providers/presets.ts'
import { extraBodyProblemOf } from '../../src/rules/upstreams/extra-body.ts'
import { ROOT } from '../support/commands.ts'
import type { Random } from '../support/random.ts'
import { textOf, type Part } from './part.ts'
import { brokenText, mutated, oddValue, written } from './values.ts'

const SECRET = Buffer.from(Array.from({ length: 32 }, (_, n) => n * 7 + 3)).toString('base64')
const NEEDED = { DATABASE_URL: 'postgres://parley:secret@127.0.0.1:5432/parley', PARLEY_SECRET: SECRET }
const VALUES = [
  '',
  ' ',
  '0',
  '-1',
  '1',
  '1.5',
  '1e9',
  '0x10',
  '99999999999999999999',
  'NaN',
  'true',
  'TRUE',
  'yes',
  'no',
  'null',
]
  .concat([
    'http://',
    'https://a',
    'https://a/b?c#d',
    'https://u:p@a',
    'https://[::1',
    'postgres://',
    'postgresql://%zz',
    'smtp://',
  ])
  .concat([
    '10.0.0.0/8',
    '::/0',
    '1.2.3.4/99',
    ',',
    'a,b',
    `1:${SECRET},1:${SECRET}`,
    `2:${SECRET},1:${SECRET}`,
    SECRET,
    '5',
    '0.50',
  ])
  .concat([
    '\u0000',
    '\uD800',
    'x'.repeat(10_000),
    '__proto__',
    '../',
    '/nowhere',
    '/',
    'sk_test_1',
    'whsec_1234567890123456',
    '1 2',
  ])

const PARSERS = [
  args.creditsOf,
  args.budgetOf,
  args.signedCreditsOf,
  args.priceOf,
  args.marginOf,
  args.listOf,
  args.timeOf,
]
  .concat([args.tenantNameOf, args.nameOf, args.reasonOf, args.domainOf, args.upstreamModelOf, args.rowsOf] as never[])
  .concat([args.wholeNumber(1, 10), args.limitUpTo(10)] as never[]) as ((text: string) => unknown)[]

type Attempt = () => unknown

export async function createConfigPart(): Promise<Part> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-fuzz-'))
  const newest = (await readdir(join(ROOT, 'prices')))
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .at(-1)!
  const prices = shortened(JSON.parse(await readFile(join(ROOT, 'prices', newest), 'utf8')) as PriceDocument)
  return {
    atOnce: 4,
    async try(random, n) {
      const file = join(folder, String(n % 16))
      const [shown, attempt] = await attemptOf(random, file, prices)
      try {
        await attempt()
        return { ending: 'accepted', complaint: undefined, shown: () => shown }
      } catch (error) {
        return {
          ending: 'refused',
          complaint: isForPeople(error) ? undefined : `it threw ${textOf(error)}`,
          shown: () => shown,
        }
      }
    },
    complaints: () => Promise.resolve([]),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

function isForPeople(error: unknown): boolean {
  const isOurs = error instanceof CliError || error instanceof ConfigError || error instanceof CommanderError
  return isOurs && error.message.length > 10
}

interface PriceDocument {
  providers: Record<string, Record<string, unknown>>
}

/** A few models of a few providers: what is wrong should stand where somebody reads. */
function shortened({ providers, ...others }: PriceDocument): PriceDocument {
  const few = Object.entries(providers)
    .slice(0, 3)
    .map(([name, models]) => [name, Object.fromEntries(Object.entries(models).slice(0, 2))])
  return { ...others, providers: Object.fromEntries(few) as PriceDocument['providers'] }
}

async function attemptOf(random: Random, file: string, prices: PriceDocument): Promise<[shown: string, Attempt]> {
  switch (random.int(5)) {
    case 0: {
      const env = environmentOf(random)
      return [
        `env ${JSON.stringify(env).slice(0, 2_000)}`,
        () => readConfig(env, random.pick([[], ['gateway'], ['console', 'worker']])),
      ]
    }
    case 1: {
      const preset = random.pick(PRESETS)
      const text = textFor(random, preset.settings ?? {})
      const provider = {
        kind: preset.kind,
        name: 'fuzz',
        baseUrl: random.pick([preset.baseUrl ?? 'https://a.example', 'x', '', 'http://']),
      }
      return [
        `settings ${provider.kind} ${text.slice(0, 2_000)}`,
        async () => {
          const settings = (await readSettings({ settings: text })) ?? {}
          readStoredSettings({ ...provider, settings })
          expectUsable({ ...provider, settings })
        },
      ]
    }
    case 2: {
      const settings = oddValue(random)
      const kind = random.pick([...PROVIDER_KINDS, '__proto__', 'constructor', ''])
      return [
        `settings ${kind} ${written(settings).slice(0, 2_000)}`,
        () => expectUsable({ kind, name: 'fuzz', baseUrl: 'https://a.example', settings }),
      ]
    }
    case 3: {
      const text = textFor(random, prices)
      await writeFile(file, text)
      return [`price file ${text.slice(0, 2_000)}`, () => readPriceFile(file)]
    }
    default: {
      const text = random.pick(VALUES)
      const parse = random.pick(PARSERS)
      const body = mutated({ a: { b: [1] }, stream: true }, random)
      return [
        `argument of ${parse.name}: ${JSON.stringify(text.slice(0, 200))}`,
        () => {
          extraBodyProblemOf(body)
          return parse(text)
        },
      ]
    }
  }
}

function textFor(random: Random, valid: object): string {
  const text = written(mutated(valid, random))
  return random.int(4) === 0 ? brokenText(text, random) : text
}

function environmentOf(random: Random): Record<string, string> {
  const env: Record<string, string> = random.int(10) === 0 ? {} : { ...NEEDED }
  for (let more = random.int(4); more >= 0; more--) {
    const name = random.pick(VARIABLES)
    env[random.int(6) === 0 ? `${name}_FILE` : name] = random.pick(VALUES)
  }
  return env
}
