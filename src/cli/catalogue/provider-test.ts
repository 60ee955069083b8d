import { Option, type Command } from 'commander'
import { MODEL_KINDS, type ModelKind } from '../../rules/catalogue/model-kinds.ts'
import { listDeployments } from '../../store/catalogue/models.ts'
import { upstreamModelOf } from '../arguments.ts'
import { CliError } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { probe, probedModelOf, type Phase, type Probe } from './probe.ts'
import { showRequest } from './provider-request.ts'
import { keyLabel, providerOf, unknownKey, type Provider, type ProviderKey } from './provider-keys.ts'
import { addCommand, withStore, type Session } from '../session.ts'

export function addProviderTestCommand(provider: Command): void {
  addCommand(
    provider,
    'test',
    'make a real call of at most 8 tokens with each key and time its phases',
    'parley provider test openai --upstream-model gpt-4o-mini',
  )
    .argument('<name>')
    .option('--upstream-model <name>', 'which model to ask (default: that of its first route)', upstreamModelOf)
    .addOption(new Option('--kind <kind>', 'what that model makes (default: as its route says)').choices(MODEL_KINDS))
    .option('--key <name>', 'only this key, also when it is disabled (default: every enabled one)')
    .addOption(
      new Option(
        '--request <file>',
        "send nothing, and show what would be sent for this request, a caller's JSON body (-: standard input)",
      ).conflicts('upstreamModel'),
    )
    .action(withStore(testProvider))
}

async function testProvider(
  session: Session,
  name: string,
  options: { upstreamModel?: string; kind?: ModelKind; key?: string; request?: string },
): Promise<Output> {
  const { db, openSecrets } = session
  const provider = await providerOf(db, name)
  if (options.request !== undefined) {
    return showRequest(session, provider, keysToTest(provider, options.key)[0], options.request)
  }
  const routes = (await listDeployments(db)).filter((route) => route.enabled && route.provider === name)
  const named = routes.find((route) => route.upstream_model === options.upstreamModel)
  const route = options.upstreamModel === undefined ? routes[0] : named
  const upstreamModel = options.upstreamModel ?? route?.upstream_model
  if (upstreamModel === undefined) {
    throw new CliError(`No route names a model of ${name} yet. Say which to ask with --upstream-model.`)
  }
  const modelKind = options.kind ?? (route ? probedModelOf(route).modelKind : 'chat')
  const secrets = await openSecrets()
  const probes: [ProviderKey | undefined, Probe][] = []
  for (const key of keysToTest(provider, options.key)) {
    probes.push([key, await probe(provider, key, secrets, { upstreamModel, modelKind })])
  }
  const hasFailed = probes.some(([, { failure }]) => failure !== undefined)
  return {
    document: {
      provider: name,
      upstream_model: upstreamModel,
      answers: !hasFailed,
      keys: probes.map(([key, { phases, usage, failure }]) => {
        return {
          name: key?.name ?? null,
          last4: key?.last4 ?? null,
          phases,
          usage: usage ?? null,
          failure: failure ?? null,
        }
      }),
    },
    text: probes.map(([key, result]) => textOf(name, key, result)).join('\n\n'),
    exitCode: hasFailed ? 1 : 0,
  }
}

/** One without a key, for a provider that asks for none. */
function keysToTest({ name, keys }: Provider, wanted: string | undefined): (ProviderKey | undefined)[] {
  if (wanted !== undefined) {
    const key = keys.find((candidate) => candidate.name === wanted)
    if (!key) throw unknownKey(name, wanted)
    return [key]
  }
  if (keys.length === 0) return [undefined]
  const enabled = keys.filter((key) => key.enabled)
  if (enabled.length > 0) return enabled
  throw new CliError(
    `Every key of ${name} is disabled. Name one with --key, or run: parley provider key enable ${name} KEY`,
  )
}

function textOf(name: string, key: ProviderKey | undefined, { phases, usage, failure }: Probe): string {
  const using = key === undefined ? 'without a key' : `with key ${keyLabel(key)}`
  const tokens =
    usage === undefined
      ? []
      : [
          {
            phase: 'tokens',
            took: `${usage.input + usage.cachedInput + usage.cacheWrite} in, ${usage.output + usage.reasoning} out`,
          },
        ]
  const rows = [...phases.map(rowOf), ...tokens]
  const head = failure === undefined ? `${name} answers, ${using}.` : `${name} does not answer, ${using}. ${failure}`
  return `${head}\n\n${table(rows, '')}`
}

function rowOf({ phase, ms, state }: Phase) {
  return { phase, took: state === 'ok' ? `${ms} ms` : state }
}
