import { Argument, type Command } from 'commander'
import {
  changeAllowedModels,
  changeLimits,
  changeRetention,
  createProject,
  creditLeftInWords,
  deleteProject,
  renameProject,
  type ProjectLimits,
} from '../../actions/projects/projects.ts'
import { formatCredits } from '../../rules/money.ts'
import type { Db } from '../../store/database.ts'
import { listModels } from '../../store/catalogue/models.ts'
import { listProjects } from '../../store/projects/projects.ts'
import { findEarnings } from '../../store/recommendations/earnings.ts'
import { domainOf, limitUpTo, listOf, tenantNameOf, wholeNumber, type Limit } from '../arguments.ts'
import { projectAtHand, projectOf, type Project } from '../project-at-hand.ts'
import { CliError, expectId, orUnknown, unknownId } from '../failures.ts'
import { facts, listing, type Output } from '../print.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

const INT4_MAX = 2_147_483_647

export function addProjectCommands(program: Command): void {
  const project = program.command('project').description('a website or app of a publisher, with its own wallet')
  addChange(
    project,
    'create',
    'add a project with an empty wallet',
    `parley project create "Website" --publisher ${EXAMPLE_ID} --domain example.com`,
  )
    .addArgument(new Argument('<name>', 'its name').argParser(tenantNameOf))
    .requiredOption('--publisher <id>', 'whose it is')
    .requiredOption('--domain <name>', 'where it is published, for example example.com', domainOf)
    .action(withStore(create))
  addCommand(project, 'list', 'show projects', 'parley project list')
    .option('--publisher <id>', 'only those of this publisher')
    .action(withStore(list))
  addCommand(project, 'show', 'show one project and its limits', `parley project show ${EXAMPLE_ID}`)
    .argument('<id>')
    .action(withStore(async (session, id: string) => projectOutput(await projectOf(session.db, id))))
  addChange(
    project,
    'set',
    'change a project’s settings',
    `parley project set ${EXAMPLE_ID} --requests-per-minute 600 --allowed-models gpt-small,gpt-large`,
  )
    .argument('<id>')
    .option('--name <name>', 'its name', tenantNameOf)
    .option('--allowed-models <ids>', 'the models it may use, separated by commas, or "all"', listOf)
    .option(
      '--content-retention-days <days>',
      'how long conversation text and call metadata are kept; 0: not at all',
      wholeNumber(0, 365),
    )
    .option('--requests-per-minute <n>', 'a limit, or "none"', limitUpTo(INT4_MAX))
    .option('--tokens-per-minute <n>', 'a limit, or "none"', limitUpTo(Number.MAX_SAFE_INTEGER))
    .option('--concurrent-calls <n>', 'a limit, or "none"', limitUpTo(INT4_MAX))
    .action(withStore(set))
  addChange(
    project,
    'delete',
    'end a project: its keys are refused and its text is erased; what was charged stays in the ledger',
    `parley project delete ${EXAMPLE_ID} --leave-credit`,
  )
    .argument('<id>')
    .option('--leave-credit', 'delete it even if credit or pending earnings are left, which stay behind')
    .action(withStore(remove))
}

/** Returns the obstacles to answering a project's calls, each as the command that removes it. */
export function obstaclesOf(project: Project): string[] {
  return [
    ...(project.publisher_activated_at ? [] : [`parley publisher activate ${project.publisher_id}`]),
    ...(project.domain_verified_at ? [] : [`parley domain verify ${project.id}`]),
    ...(project.balance_nanos > 0n ? [] : [`parley wallet topup ${project.id} 10`]),
  ]
}

async function create(
  { config, db, actor, change }: Session,
  name: string,
  options: { publisher: string; domain: string },
): Promise<Output> {
  const { publisher: publisherId, domain } = options
  expectId('publisher', publisherId)
  const wanted = { publisherId, name, domain, sandboxDomain: config.PARLEY_SANDBOX_DOMAIN }
  const { id } = await change((tx) => createProject(tx, actor, wanted)).catch(orUnknown('publisher', publisherId))
  const project = await projectOf(db, id)
  const next = [...obstaclesOf(project), `parley key create ${id}`]
  const { text, document } = projectOutput(project)
  return { document, text: `${text}\n\nNext:\n${next.map((command) => `  ${command}`).join('\n')}` }
}

async function list({ db }: Session, options: { publisher?: string }): Promise<Output> {
  if (options.publisher !== undefined) expectId('publisher', options.publisher)
  const projects = await listProjects(db, options.publisher)
  return {
    document: projects,
    text: listing(
      projects.map((project) => ({
        id: project.id,
        name: project.name,
        domain: project.domain,
        verified: project.domain_verified_at !== null,
        sandbox: project.is_sandbox,
        balance: formatCredits(project.balance_nanos),
        publisher: project.publisher_id,
      })),
      'There are no projects yet. Add one with: parley project create NAME --publisher ID --domain example.com',
      'Name a publisher with --publisher to see all of theirs.',
    ),
  }
}

interface SetOptions {
  name?: string
  allowedModels?: string[]
  contentRetentionDays?: number
  requestsPerMinute?: Limit
  tokensPerMinute?: Limit
  concurrentCalls?: Limit
}

async function set({ db, actor, change }: Session, id: string, options: SetOptions): Promise<Output> {
  const { name, allowedModels, contentRetentionDays: days } = options
  const tokensPerMinute = columnOf(options.tokensPerMinute)
  const limits: ProjectLimits = {
    requests_per_minute: columnOf(options.requestsPerMinute),
    tokens_per_minute: typeof tokensPerMinute === 'number' ? BigInt(tokensPerMinute) : tokensPerMinute,
    concurrent_calls: columnOf(options.concurrentCalls),
  }
  const hasLimits = Object.values(limits).some((limit) => limit !== undefined)
  const models = allowedModels && (await allowedModelsOf(db, allowedModels))
  if (name === undefined && models === undefined && days === undefined && !hasLimits) {
    throw new CliError('Nothing to change. Run "parley project set --help" to see the options.')
  }
  const project = projectAtHand(await projectOf(db, id))
  await change(async (tx) => {
    if (name !== undefined) await renameProject(tx, actor, { project, name })
    if (models !== undefined) await changeAllowedModels(tx, actor, { project, models })
    if (days !== undefined) await changeRetention(tx, actor, { project, days })
    if (hasLimits) await changeLimits(tx, actor, { project, limits })
  })
  return projectOutput(await projectOf(db, id))
}

async function remove({ db, actor, change }: Session, id: string, options: { leaveCredit?: true }): Promise<Output> {
  const row = await projectOf(db, id)
  const left = creditLeftInWords(row.balance_nanos, (await findEarnings(db, id)).pending)
  if (left !== undefined && !options.leaveCredit)
    throw new CliError(`${left} left. Use --leave-credit to leave it behind.`)
  const project = projectAtHand(row)
  await change((tx) => deleteProject(tx, actor, { project, leavesCredit: options.leaveCredit ?? false })).catch(
    orUnknown('project', id),
  )
  return { document: { id, deleted: true }, text: `Project ${id} (${row.name}) is deleted.` }
}

function columnOf(limit: Limit | undefined): number | null | undefined {
  return limit === 'none' ? null : limit
}

async function allowedModelsOf(db: Db, ids: string[]): Promise<string[] | null> {
  if (ids.length === 1 && ids[0] === 'all') return null
  const known = new Set((await listModels(db)).map((model) => model.id))
  const unknown = ids.find((id) => !known.has(id))
  if (unknown !== undefined) throw unknownId('model', unknown)
  return ids
}

function projectOutput(project: Project): Output {
  return {
    document: project,
    text: facts({
      id: project.id,
      name: project.name,
      publisher: project.publisher_id,
      sandbox: project.is_sandbox,
      domain: `${project.domain} (${project.domain_verified_at ? 'verified' : 'not verified'})`,
      balance: formatCredits(project.balance_nanos),
      'allowed models': project.allowed_models ?? 'all',
      'content retention': `${project.content_retention_days} days`,
      'requests per minute': project.requests_per_minute ?? 'no limit',
      'tokens per minute': project.tokens_per_minute ?? 'no limit',
      'concurrent calls': project.concurrent_calls ?? 'no limit',
      created: project.created_at,
    }),
  }
}
