import type { Command } from 'commander'
import { eraseEndUser } from '../../actions/calls/end-users.ts'
import { formatCredits } from '../../rules/money.ts'
import { listEndUsers, sumsSince } from '../../store/calls/end-user-pages.ts'
import { rowsOf } from '../arguments.ts'
import { expectId, orUnknown } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { projectAtHand, projectOf } from '../project-at-hand.ts'
import { addChange, addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

export function addEndUserCommands(program: Command): void {
  const endUser = program.command('end-user').description('the people that publishers’ apps make calls for')
  addCommand(endUser, 'list', 'show those seen most recently', `parley end-user list ${EXAMPLE_ID}`)
    .argument('<project>')
    .option('--limit <n>', 'how many', rowsOf, 50)
    .action(withStore(list))
  addChange(
    endUser,
    'erase',
    'erase the label, totals, limits and counters of one',
    `parley end-user erase ${EXAMPLE_ID} ${EXAMPLE_ID}`,
  )
    .argument('<project>')
    .argument('<end-user>')
    .action(withStore(erase))
}

async function list({ db }: Session, projectId: string, options: { limit: number }): Promise<Output> {
  await projectOf(db, projectId)
  const rows = await listEndUsers(db, projectId, { since: sumsSince(Date.now()), most: options.limit })
  return {
    document: rows.map(({ id, label, firstSeenAt, lastSeenAt, calls, tokens, charged }) => {
      return { id, label, first_seen_at: firstSeenAt, last_seen_at: lastSeenAt, calls, tokens, charged_nanos: charged }
    }),
    text: table(
      rows.map(({ id, label, lastSeenAt, calls, tokens, charged }) => {
        return { id, label, 'last seen': lastSeenAt, calls, tokens, '30 days': formatCredits(charged) }
      }),
      'There are none yet: a call is for an end user when it has the header x-end-user-id.',
    ),
  }
}

async function erase({ db, actor, change }: Session, projectId: string, endUserId: string): Promise<Output> {
  const project = projectAtHand(await projectOf(db, projectId))
  expectId('end user', endUserId)
  await change((tx) => eraseEndUser(tx, actor, { project, endUserId })).catch(orUnknown('end user', endUserId))
  return {
    document: { project_id: project.id, id: endUserId, erased: true },
    text: `End user ${endUserId} is erased. Calls and charges stay, and a later call makes them known again.`,
  }
}
