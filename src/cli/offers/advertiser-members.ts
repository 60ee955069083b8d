import { Option, type Command } from 'commander'
import { addAdvertiserMember, dropAdvertiserMember } from '../../actions/accounts/advertiser-members.ts'
import { ADVERTISER_ROLES, type AdvertiserRole } from '../../rules/accounts/advertisers.ts'
import { ParleyError } from '../../rules/errors.ts'
import { listAdvertiserMembers } from '../../store/accounts/advertiser-members.ts'
import { findUserByEmail } from '../../store/accounts/users.ts'
import type { Db } from '../../store/database.ts'
import { CliError } from '../failures.ts'
import { table, type Output } from '../print.ts'
import { addChange, addCommand, withStore, type Session } from '../session.ts'
import { advertiserOf } from './advertisers.ts'

/** Commands for the people of the console who may act for an advertiser. */
export function addAdvertiserMemberCommands(advertiser: Command): void {
  const member = advertiser.command('member').description('the people who act for an advertiser in the console')
  addChange(
    member,
    'add',
    'let someone who has signed up act for an advertiser',
    'parley advertiser member add "Acme Audio" kim@acme-audio.example --role admin',
  )
    .argument('<advertiser>', 'its name or id')
    .argument('<email>', 'the confirmed address they sign in to the console with')
    .addOption(new Option('--role <role>', 'what they may do there').choices(ADVERTISER_ROLES).default('editor'))
    .action(withStore(add))
  addChange(
    member,
    'remove',
    'remove someone who acts for an advertiser',
    'parley advertiser member remove "Acme Audio" kim@acme-audio.example',
  )
    .argument('<advertiser>', 'its name or id')
    .argument('<email>', 'of the member')
    .action(withStore(remove))
  addCommand(member, 'list', 'show who acts for an advertiser', 'parley advertiser member list "Acme Audio"')
    .argument('<advertiser>', 'its name or id')
    .action(withStore(list))
}

async function add({ db, actor, change }: Session, which: string, email: string, { role }: { role: AdvertiserRole }) {
  const advertiser = await advertiserOf(db, which)
  const member = await personOf(db, email)
  await change((tx) => addAdvertiserMember(tx, actor, { advertiser, member, role }))
  return {
    document: { advertiser_id: advertiser.id, user_id: member.id, role },
    text: `${member.email} is ${role} of ${advertiser.name}.`,
  }
}

/** An address that is not confirmed may be anybody's. */
async function personOf(db: Db, email: string) {
  const found = await findUserByEmail(db, email.trim().toLowerCase())
  if (found?.email_verified) return found
  throw new CliError(
    found
      ? `${found.email} is not confirmed yet. The link is in the email they got.`
      : `No one has signed up to the console as ${email}. Ask them to, then try again.`,
  )
}

async function remove({ db, actor, change }: Session, which: string, email: string): Promise<Output> {
  const advertiser = await advertiserOf(db, which)
  const member = await findUserByEmail(db, email.trim().toLowerCase())
  const none = new CliError(`${email} is not a member of ${advertiser.name}, so nothing changed.`)
  if (!member) throw none
  await change((tx) => dropAdvertiserMember(tx, actor, { advertiser, member })).catch((error: unknown) => {
    throw error instanceof ParleyError && error.code === 'not_found' ? none : error
  })
  return {
    document: { advertiser_id: advertiser.id, user_id: member.id },
    text: `${member.email} no longer acts for ${advertiser.name}.`,
  }
}

async function list({ db }: Session, which: string): Promise<Output> {
  const advertiser = await advertiserOf(db, which)
  const members = await listAdvertiserMembers(db, advertiser.id)
  return {
    document: members,
    text: table(
      members.map(({ name, email, role, created_at: since }) => ({ name, email, role, since })),
      'No one acts for it in the console. Run "parley advertiser member add --help" to see how to add someone.',
    ),
  }
}
