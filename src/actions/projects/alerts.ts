import type { Secrets } from '../../platform/secrets.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import {
  ALERT_RULES,
  ruleIn,
  sentenceOfAlert,
  type AlertKind,
  type Judged,
  type OpenAlert,
} from '../../rules/alerts.ts'
import { formatCredits } from '../../rules/money.ts'
import type { Tx } from '../../store/database.ts'
import * as store from '../../store/projects/alerts.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { postEvent } from '../events.ts'
import { mailAdmins } from '../mails.ts'
import { wrongField } from '../refusals.ts'

/** A rule on or off, and its threshold; null: the usual one. */
export async function changeAlertRule(
  tx: Tx,
  actor: Actor,
  input: { project: ProjectAtHand; kind: AlertKind; enabled: boolean; threshold: bigint | null },
): Promise<void> {
  const { project, kind, enabled, threshold } = input
  const chosen = await store.listAlertRules(tx, project.id)
  const before = ruleIn(chosen, kind)
  if (threshold !== null) expectThreshold(kind, threshold)
  await store.setAlertRule(tx, project.id, { kind, enabled, threshold })
  const after = ruleIn([{ kind, enabled, threshold }], kind)
  const details = { rule: kind, before: textOf(kind, before), after: textOf(kind, after) }
  await auditProject(tx, actor, project, 'alert.rule_changed', { subject: ALERT_RULES[kind].title, details })
}

function expectThreshold(kind: AlertKind, threshold: bigint): void {
  const bounds = ALERT_RULES[kind].threshold
  if (bounds === null) throw wrongField('threshold', 'This alert has no threshold of its own.')
  if (threshold < bounds.least || threshold > bounds.most)
    throw wrongField('threshold', `From ${bounds.least} to ${bounds.most}.`)
}

function textOf(kind: AlertKind, { isOn, threshold }: { isOn: boolean; threshold: bigint | null }): string {
  if (!isOn) return 'off'
  return threshold === null ? 'on' : `${threshold}${ALERT_RULES[kind].threshold?.unit ?? ''}`
}

export interface AlertsInstallation {
  secrets: Secrets
  consoleUrl: string
}

interface AlertsInput {
  project: ProjectAtHand
  /** Whether the low-balance email is on. A job of its own sends it. */
  hasBalanceMail: boolean
  installation: AlertsInstallation
}

/** How often in a day people and endpoints are told that one and the same thing has opened: what comes and goes more often is no
 * news, and nobody makes a flood of it by switching a rule off and on. */
const TOLD_PER_DAY = 6
/** To each of a project's people. Whoever has so many in a day reads none of them. */
const MAILS_PER_DAY = 20

/** Opens what is new and tells of it: once, whoever else has seen it too. The project is locked. */
export async function openAlert(tx: Tx, input: AlertsInput, judged: Judged): Promise<void> {
  const { project } = input
  const { kind, subject, facts } = judged
  const isTold = (await store.countToldOfDay(tx, project.id, judged)) < TOLD_PER_DAY
  const alert = { id: uuidv7(), projectId: project.id, kind, subject, facts, isTold }
  if (!(await store.openAlert(tx, alert)) || !isTold) return
  await tellEndpoints(tx, project, 'alert.opened', { ...alert, openedAt: new Date(), closedAt: null })
  await mailOpened(tx, input, alert)
}

/**
 * Alerts whose end is mailed, too. The others end by something that people know of: a top-up, a raised budget, the end of a
 * day.
 */
const TOLD_WHEN_OVER: readonly string[] = ['error_rate', 'provider_down'] satisfies AlertKind[]

export async function closeAlert(tx: Tx, { project, installation }: AlertsInput, { id }: OpenAlert): Promise<void> {
  const alert = await store.closeAlert(tx, project.id, id)
  // Nobody hears of the end of what they have not heard of.
  if (!alert?.isTold) return
  await tellEndpoints(tx, project, 'alert.closed', alert)
  if (TOLD_WHEN_OVER.includes(alert.kind) && (await store.takeMailOfDay(tx, project.id, id, MAILS_PER_DAY))) {
    const data = mailOf(project, installation, alert.kind as AlertKind, alert.facts)
    await mailAdmins(tx, installation.secrets, { template: 'alert_closed', data })
  }
}

async function tellEndpoints(
  tx: Tx,
  { id: projectId }: ProjectAtHand,
  type: 'alert.opened' | 'alert.closed',
  alert: store.AlertRow,
): Promise<void> {
  const { id, kind, facts, openedAt, closedAt } = alert
  const times = { opened_at: openedAt.toISOString(), closed_at: closedAt?.toISOString() ?? null }
  const data = { alert_id: id, kind, ...times, message: sentenceOfAlert(kind, facts), facts }
  await postEvent(tx, { projectId, type, objectKey: `alert:${id}`, data })
}

/** One mail for one thing: domains have mails of their own, and so has a balance for which an amount is set. */
async function mailOpened(tx: Tx, input: AlertsInput, { id, kind, facts }: store.NewAlert): Promise<void> {
  const { project, hasBalanceMail, installation } = input
  const { secrets, consoleUrl } = installation
  if (kind === 'domain_lapsing' || (kind === 'low_balance' && hasBalanceMail)) return
  if (!(await store.takeMailOfDay(tx, project.id, id, MAILS_PER_DAY))) return
  if (kind !== 'low_balance') {
    const data = mailOf(project, installation, kind, facts)
    await mailAdmins(tx, secrets, { template: 'alert_opened', data })
    return
  }
  const amount = (name: string) => formatCredits(BigInt(String(facts[name])))
  const amounts = { balance: amount('balance_nanos'), threshold: amount('threshold_nanos') }
  const data = { project: project.name, ...amounts, link: `${consoleUrl}/projects/${project.id}/wallet` }
  await mailAdmins(tx, secrets, { template: 'low_balance', data })
}

function mailOf(project: ProjectAtHand, { consoleUrl }: AlertsInstallation, kind: AlertKind, facts: Judged['facts']) {
  const { title: alert } = ALERT_RULES[kind]
  const link = `${consoleUrl}/projects/${project.id}/alerts`
  return { project: project.name, alert, sentence: sentenceOfAlert(kind, facts), link }
}
