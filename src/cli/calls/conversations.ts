import type { Command } from 'commander'
import { deleteConversation } from '../../actions/calls/conversations.ts'
import { listConversations, listMessages } from '../../store/calls/conversations.ts'
import { rowsOf } from '../arguments.ts'
import { orUnknown, unknownId } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

export function addConversationCommands(program: Command): void {
  const conversation = program.command('conversation').description('conversations, for as long as a project keeps them')
  addCommand(conversation, 'list', 'show the latest conversations', `parley conversation list ${EXAMPLE_ID}`)
    .argument('<project>')
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(list))
  addCommand(conversation, 'show', 'show what was said', `parley conversation show ${EXAMPLE_ID} visitor-17`)
    .argument('<project>')
    .argument('<conversation>')
    .option('--limit <n>', 'how many messages, from the first', rowsOf, 200)
    .action(withStore(show))
  addChange(
    conversation,
    'delete',
    'erase the text for good; from then on the id returns 404',
    `parley conversation delete ${EXAMPLE_ID} visitor-17`,
  )
    .argument('<project>')
    .argument('<conversation>')
    .action(withStore(remove))
}

async function list({ db }: Session, projectId: string, options: { limit: number }): Promise<Output> {
  await projectOf(db, projectId)
  const conversations = await listConversations(db, projectId, options.limit)
  return {
    document: conversations,
    text: table(
      conversations.map(({ id, calls, created_at, last_call_at }) => {
        return { conversation: id, calls, 'last call': last_call_at, created: created_at }
      }),
      'There are none yet. Calls with the header x-conversation-id create them.',
    ),
  }
}

async function show({ db }: Session, projectId: string, id: string, options: { limit: number }): Promise<Output> {
  await projectOf(db, projectId)
  const messages = await listMessages(db, { projectId, id }, options.limit)
  if (messages.length === 0) throw unknownId('conversation', id)
  const text = messages.map((message) => {
    const time = message.created_at.toISOString()
    return `${message.role}  ${time}  call ${message.call_id}\n${textOf(message.content)}`
  })
  return { document: { project_id: projectId, id, messages }, text: text.join('\n\n') }
}

/** Plain text as it is; parts and tool calls as they were sent. */
function textOf(content: unknown): string {
  if (content === null) return '(its text is not kept, or no longer)'
  const said = (content as { content?: unknown }).content
  return typeof said === 'string' && Object.keys(content as object).length === 1 ? said : JSON.stringify(content)
}

async function remove({ db, actor, change }: Session, projectId: string, id: string): Promise<Output> {
  const project = projectAtHand(await projectOf(db, projectId))
  await change((tx) => deleteConversation(tx, actor, { project, conversationId: id })).catch(
    orUnknown('conversation', id),
  )
  return {
    document: { project_id: projectId, id, deleted: true },
    text: `Conversation ${id} is deleted: its text is erased, and calls that name it are answered 404.`,
  }
}
