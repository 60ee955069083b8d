import type { FastifyInstance } from 'fastify'
import { createProject, renameProject } from '../../actions/projects/projects.ts'
import { notThere } from '../../actions/refusals.ts'
import { findProject, listProjects } from '../../store/projects/projects.ts'
import { enterProject } from '../../store/tenancy.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

type ProjectRow = NonNullable<Awaited<ReturnType<typeof findProject>>>

export function projectRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/publishers/:publisher/projects', async ({ db, publisher }) => {
    return { items: (await listProjects(db, publisher.id)).map(projectOf) }
  })

  route(app, world, 'POST /api/publishers/:publisher/projects', async ({ db, actor, publisher, body }) => {
    const publisherId = publisher.id
    const { sandboxDomain } = world.installation
    const enter = (projectId: string) => enterProject(world.tenants, db, { publisherId, projectId })
    const { id } = await createProject(db, actor, { publisherId, ...body, sandboxDomain, enter })
    return projectOf(await projectRow(db, id))
  })

  route(app, world, 'GET /api/projects/:project', async ({ db, project, publisher }) => {
    const { id, name, activatedAt, role } = publisher
    return { ...projectOf(await projectRow(db, project.id)), role, publisher: { id, name, activatedAt } }
  })

  route(app, world, 'PATCH /api/projects/:project', async ({ db, actor, project, body }) => {
    await renameProject(db, actor, { project, name: body.name })
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
    isSandbox: row.is_sandbox,
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
