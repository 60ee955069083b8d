import type { Command } from 'commander'
import { ConfigError, readConfig, type Config } from '../../config.ts'
import { createSecrets } from '../../platform/secrets.ts'
import { checkAdvertising, checkDataCentres } from './advertising-checks.ts'
import { checkRouteFields, checkSettings } from './catalogue-checks.ts'
import * as checks from './checks.ts'
import { sentenceOf } from '../failures.ts'
import { checkLogins } from './login-checks.ts'
import { checkRoles } from './role-checks.ts'
import { checkSecrets } from './secret-checks.ts'
import type { Output } from '../print.ts'
import { addCommand, openCommandStore, print } from '../session.ts'

export function addDoctorCommand(program: Command): void {
  addCommand(program, 'doctor', 'check everything and say how to fix what is wrong', 'parley doctor --offline')
    .option('--offline', 'do not call the providers')
    .action(async (options: { offline?: boolean }, command: Command) => {
      print(outputOf(await examine(options.offline ?? false)), command)
    })
}

async function examine(isOffline: boolean): Promise<checks.Finding[]> {
  let config: Config
  try {
    config = readConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [
      ...error.problems.map((problem): checks.Finding => {
        return { check: 'configuration', state: 'problem', detail: problem }
      }),
      { check: 'everything else', state: 'skipped', detail: 'needs the configuration' },
    ]
  }
  return [
    { check: 'configuration', state: 'ok', detail: 'complete' },
    ...checks.checkProxies(config.PARLEY_CONSOLE_URL, config.PARLEY_TRUSTED_PROXIES),
    ...(await examineStore(config, isOffline)),
  ]
}

async function examineStore(config: Config, isOffline: boolean): Promise<checks.Finding[]> {
  const store = openCommandStore({ url: config.DATABASE_URL, applicationName: 'parley doctor' })
  const { db } = store
  const secrets = createSecrets(config.PARLEY_SECRET)
  const inOrder: [name: string, check: () => Promise<checks.Finding[]>][] = [
    ['store', () => checks.checkStore(db)],
    ['migrations', () => checks.checkMigrations(config.DATABASE_URL)],
    ['functions', () => checks.checkFunctions(config.DATABASE_URL)],
    ['roles', () => checkRoles(db)],
    ['logins', () => checkLogins(config, db)],
    ['partitions', () => checks.checkPartitions(db)],
    ['secrets', () => checkSecrets(db, secrets, config.PARLEY_LEASE_MS)],
    ['settings', () => checkSettings(db)],
    ['providers', () => checks.checkProviders(db, secrets, isOffline)],
    ['models', () => checks.checkModels(db)],
    ['routes', () => checkRouteFields(db)],
    ['callers', () => checks.checkCallers(db)],
    ['holds', () => checks.checkHolds(db, config.PARLEY_LEASE_MS)],
    ['usage reports', () => checks.checkUsageReports(db)],
    ['advertising', () => checkAdvertising(db)],
    ['data centres', () => checkDataCentres(config.PARLEY_DATA_CENTRE_NETWORKS)],
  ]
  /** Without these, every later check would only repeat the same failure. */
  const decisive = new Set(['store', 'migrations'])
  const findings: checks.Finding[] = []
  try {
    for (const [name, check] of inOrder) {
      const found = await check().catch((error: unknown): checks.Finding[] => [
        { check: name, state: 'problem', detail: sentenceOf(error, config.DATABASE_URL) },
      ])
      findings.push(...found)
      if (decisive.has(name) && found.some(({ state }) => state === 'problem')) {
        findings.push({ check: 'everything else', state: 'skipped', detail: `needs the ${name}` })
        break
      }
    }
  } finally {
    await store.close()
  }
  return findings
}

function outputOf(findings: checks.Finding[]): Output {
  const problems = findings.filter(({ state }) => state === 'problem').length
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.map(({ check, state, detail, mend }) => {
    return `${state.padEnd('problem'.length)}  ${check.padEnd(width)}  ${detail}${mend === undefined ? '' : `. ${mend}`}`
  })
  const summary = problems === 0 ? 'No problems.' : `${problems} ${problems === 1 ? 'problem' : 'problems'}.`
  return {
    document: { ok: problems === 0, findings },
    text: `${lines.join('\n')}\n\n${summary}`,
    exitCode: problems === 0 ? 0 : 1,
  }
}
