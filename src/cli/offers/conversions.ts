import { Argument, type Command } from 'commander'
import { makeConversionKey, setAddsClickId } from '../../actions/offers/conversions.ts'
import { CLICK_PARAMETER } from '../../rules/clicks/conversions.ts'
import { sumConversions } from '../../store/recommendations/conversions.ts'
import { table, type Output } from '../print.ts'
import { addChange, addCommand, withStore, type Session } from '../session.ts'
import { advertiserOf } from './advertisers.ts'

/** How advertisers learn what became of their clicks. */
export function addConversionCommands(advertiser: Command): void {
  addChange(
    advertiser,
    'conversion-key',
    'make the key by which its server tells of conversions; the one before stops working',
    'parley advertiser conversion-key "Acme Audio"',
  )
    .argument('<advertiser>', 'its name or id')
    .action(withStore(makeKey))
  addChange(
    advertiser,
    'click-id',
    `choose whether its links carry the click id, as ${CLICK_PARAMETER}`,
    'parley advertiser click-id "Acme Audio" on',
  )
    .argument('<advertiser>', 'its name or id')
    .addArgument(new Argument('<state>').choices(['on', 'off']))
    .action(withStore(setClickId))
  addCommand(
    advertiser,
    'conversions',
    'show what it told of its clicks, by campaign',
    'parley advertiser conversions "Acme Audio"',
  )
    .argument('<advertiser>', 'its name or id')
    .action(withStore(conversions))
}

async function makeKey({ db, actor, change }: Session, which: string): Promise<Output> {
  const advertiser = await advertiserOf(db, which)
  const key = await change((tx) => makeConversionKey(tx, actor, advertiser))
  const hint = advertiser.adds_click_id ? '' : `\n\nNext: parley advertiser click-id "${advertiser.name}" on`
  return {
    document: { id: advertiser.id, name: advertiser.name, conversion_key: key },
    text: `${key}\n\nIt is shown only once. ${advertiser.name} sends it to POST /v1/conversions, from its server.${hint}`,
  }
}

async function setClickId({ db, actor, change }: Session, which: string, state: 'on' | 'off'): Promise<Output> {
  const advertiser = await advertiserOf(db, which)
  const addsClickId = state === 'on'
  await change((tx) => setAddsClickId(tx, actor, { advertiser, addsClickId }))
  return {
    document: { id: advertiser.id, name: advertiser.name, adds_click_id: addsClickId },
    text: `Links of ${advertiser.name} ${addsClickId ? `carry the click id, as ${CLICK_PARAMETER}` : 'carry no click id'}.`,
  }
}

async function conversions({ db }: Session, which: string): Promise<Output> {
  const sums = await sumConversions(db, (await advertiserOf(db, which)).id)
  const rows = sums.map(({ campaign, verdict, conversions: count, value, currency }) => ({
    campaign,
    verdict: verdict.replaceAll('_', ' '),
    conversions: count,
    value: `${value} ${currency}`,
  }))
  return { document: sums, text: table(rows, 'It has not reported any yet.') }
}
