import { z } from 'zod'
import { projectSummary } from './accounts/sign-in.ts'
import { entries, id, name, role, time } from './fields.ts'

export const project = projectSummary.extend({
  publisherId: id,
  contentRetentionDays: z.number().int(),
  allowedModels: z.array(z.string()).nullable(),
})

export const projects = entries({
  'GET /api/publishers/:publisher/projects': {
    access: 'publisher',
    role: 'viewer',
    reply: z.object({ items: z.array(project) }),
  },
  'POST /api/publishers/:publisher/projects': {
    access: 'publisher',
    role: 'admin',
    body: z.object({ name, domain: z.string().trim().min(1, 'Enter a domain like example.com.').max(2_000) }),
    reply: project,
  },
  'GET /api/projects/:project': {
    access: 'project',
    role: 'viewer',
    reply: project.extend({
      role,
      publisher: z.object({ id, name: z.string(), activatedAt: time.nullable() }),
    }),
  },
  'PATCH /api/projects/:project': {
    access: 'project',
    role: 'admin',
    body: z.object({ name }),
    reply: project,
  },
})
