import type { FastifyInstance } from 'fastify'
import { domainToUnicode } from 'node:url'
import { changeDomain, recordCheck } from '../../actions/projects/domains.ts'
import { notThere } from '../../actions/refusals.ts'
import { refuseInSandbox } from '../../actions/sandbox.ts'
import { explainFile, explainRecord, explainStanding } from '../../rules/projects/domain-labels.ts'
import { domainStateOf, lapsesAtOf, PROOF_FILE_PATH, proofRecordOf, twinOf } from '../../rules/projects/domains.ts'
import type { Db } from '../../store/database.ts'
import { findDomain, type Domain } from '../../store/projects/domains.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'

const CHECKS_PER_MINUTE = 6

export function domainRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/domain', async ({ db, project }) =>
    viewOf(await expectDomain(db, project.id)),
  )
  route(app, world, 'POST /api/projects/:project/domain/check', (call) => checkNow(world, call))
  route(app, world, 'PATCH /api/projects/:project/domain', async ({ db, actor, project, body }) => {
    const { sandboxDomain } = world.installation
    await changeDomain(db, actor, { project, name: body.name, sandboxDomain })
    return viewOf(await expectDomain(db, project.id))
  })
}

async function checkNow(world: World, call: ConsoleRequest<'POST /api/projects/:project/domain/check'>) {
  const { project, publisher, inTenant } = call
  await throttle(world.db, [{ subject: `domain-check/${project.id}`, most: CHECKS_PER_MINUTE }])
  const { name, token } = await inTenant(async (tx) => {
    await refuseInSandbox(tx, project, 'domainCheck')
    return expectDomain(tx, project.id)
  })
  const findings = await world.checkDomain({ name, token })
  const check = { publisherId: publisher.id, projectId: project.id, name, token, findings, isAsked: true }
  const options = { secrets: world.secrets, consoleUrl: world.installation.consoleUrl }
  // Undefined: somebody changed the domain meanwhile, and what is there now was not checked.
  return viewOf(await inTenant(async (tx) => (await recordCheck(tx, options, check)) ?? expectDomain(tx, project.id)))
}

async function expectDomain(db: Db, projectId: string): Promise<Domain> {
  const domain = await findDomain(db, projectId)
  if (!domain) throw notThere('project')
  return domain
}

/** As people write it. */
function shown(name: string): string {
  return domainToUnicode(name) || name
}

function viewOf(domain: Domain) {
  const { name, token, findings, provenBy, verifiedAt, failingSince, lapsedAt, checkedAt, nextCheckAt } = domain
  const record = proofRecordOf(name, token)
  const twin = twinOf(name)
  return {
    name,
    displayName: shown(name),
    state: domainStateOf(domain),
    explanation: explainStanding(domain),
    provenBy,
    verifiedAt,
    failingSince,
    lapsesAt: lapsesAtOf(domain),
    lapsedAt,
    checkedAt,
    nextCheckAt,
    record,
    file: { url: `https://${name}${PROOF_FILE_PATH}`, content: record.value },
    twin: twin === undefined ? null : shown(twin),
    lastSeen: findings && {
      record: { ...findings.dns, explanation: explainRecord(findings, record) },
      file: { ...findings.file, explanation: explainFile(findings) },
    },
  }
}
