import type { FastifyInstance } from 'fastify'
import { randomBytes } from 'node:crypto'
import { uuidv7 } from '../../platform/uuid.ts'
import { domainNameOf } from '../../rules/projects/domains.ts'
import { ParleyError } from '../../rules/errors.ts'
import { findProject, insertProject, listProjects, updateProject } from '../../store/projects/projects.ts'
import { lockPublisher } from '../../store/accounts/publishers.ts'
import { enterProject } from '../../store/tenancy.ts'
import { audited } from '../audited.ts'
import { notThere, route, wrongFields } from '../route.ts'
import type { World } from '../world.ts'

/** Each has Parley ask for a name and a file again and again, at whatever name its publisher wrote. */
const PROJECTS_MAX = 100

type ProjectRow = NonNullable<Awaited<ReturnType<typeof findProject>>>

export function projectRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/publishers/:publisher/projects', async ({ db, publisher }) => {
    return { items: (await listProjects(db, publisher.id)).map(projectOf) }
  })

  route(app, world, 'POST /api/publishers/:publisher/projects', async (call) => {
    const { db, publisher, body } = call
    const domain = domainNameOf(body.domain)
    if (domain === undefined)
      throw wrongFields([
        { path: 'domain', message: 'Write a domain that you own, like example.com or www.example.com.' },
      ])
    // Two that are made at once would each be counted as the last that there is room for.
    await lockPublisher(db, publisher.id)
    if ((await listProjects(db, publisher.id)).length >= PROJECTS_MAX)
      throw new ParleyError('conflict', {
        message: `An account has at most ${PROJECTS_MAX} projects. Delete some first.`,
      })
    const id = uuidv7()
    await enterProject(world.tenants, db, { publisherId: publisher.id, projectId: id })
    const token = randomBytes(16).toString('hex')
    const project = { id, publisherId: publisher.id, name: body.name, domain }
    await insertProject(db, { ...project, verificationToken: token, domainVerifiedAt: null })
    await audited({ ...call, project: { id } }, 'project.created', { subject: body.name, details: { domain } })
    return projectOf(await projectRow(db, id))
  })

  route(app, world, 'GET /api/projects/:project', async ({ db, project, publisher }) => {
    const { id, name, activatedAt, role } = publisher
    return { ...projectOf(await projectRow(db, project.id)), role, publisher: { id, name, activatedAt } }
  })

  route(app, world, 'PATCH /api/projects/:project', async (call) => {
    const { db, project, body } = call
    await updateProject(db, project.id, { name: body.name })
    await audited(call, 'project.renamed', { subject: body.name, details: { before: project.name } })
    return projectOf(await projectRow(db, project.id))
  })
}

async function projectRow(db: Parameters<typeof findProject>[0], id: string): Promise<ProjectRow> {
  const row = await findProject(db, id)
  if (!row) throw notThere('project')
  return row
}

export function summaryOf(row: ProjectRow) {
  return {
    id: row.id,
    name: row.name,
    domain: row.domain,
    domainVerifiedAt: row.domain_verified_at,
    balanceNanos: row.balance_nanos,
    alertNanos: row.alert_nanos,
    createdAt: row.created_at,
  }
}

function projectOf(row: ProjectRow) {
  return {
    ...summaryOf(row),
    publisherId: row.publisher_id,
    contentRetentionDays: row.content_retention_days,
    allowedModels: row.allowed_models,
  }
}
