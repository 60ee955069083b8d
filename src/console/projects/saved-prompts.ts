import type { FastifyInstance } from 'fastify'
import { changeSavedPrompt, deleteSavedPrompt, savePrompt } from '../../actions/projects/saved-prompts.ts'
import { notThere } from '../../actions/refusals.ts'
import { SAVED_PROMPTS_MAX } from '../../rules/projects/saved-prompts.ts'
import { findSavedPrompt, listSavedPrompts } from '../../store/projects/saved-prompts.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

export function savedPromptRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/saved-prompts', async ({ db, project }) => {
    return { items: await listSavedPrompts(db, project.id, SAVED_PROMPTS_MAX), most: SAVED_PROMPTS_MAX }
  })

  route(app, world, 'POST /api/projects/:project/saved-prompts', async ({ db, actor, project, body }) => {
    const { name, model, ...content } = body
    return { id: await savePrompt(db, actor, { project, name, model, content }) }
  })

  route(app, world, 'GET /api/projects/:project/saved-prompts/:prompt', async ({ db, project, params }) => {
    const prompt = await findSavedPrompt(db, project.id, params.prompt)
    if (!prompt) throw notThere('prompt')
    const { content, ...summary } = prompt
    return { ...summary, ...content }
  })

  route(app, world, 'PUT /api/projects/:project/saved-prompts/:prompt', async (call) => {
    const { db, actor, project, params, body } = call
    const { model, ...content } = body
    await changeSavedPrompt(db, actor, { project, promptId: params.prompt, asked: { model, content } })
    return { done: true }
  })

  route(app, world, 'PATCH /api/projects/:project/saved-prompts/:prompt', async (call) => {
    const { db, actor, project, params, body } = call
    await changeSavedPrompt(db, actor, { project, promptId: params.prompt, name: body.name })
    return { done: true }
  })

  route(app, world, 'DELETE /api/projects/:project/saved-prompts/:prompt', async (call) => {
    const { db, actor, project, params } = call
    await deleteSavedPrompt(db, actor, { project, promptId: params.prompt })
    return { done: true }
  })
}
