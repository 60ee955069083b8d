import { wrongFields } from '../../actions/refusals.ts'
import { blocksOf, isCampaignBlocked, isOfferBlocked } from '../../rules/recommendations/eligibility.ts'
import { labelOf, renderBlock, type Block } from '../../rules/recommendations/block.ts'
import { TOKEN_CHARS } from '../../rules/recommendations/link-token.ts'
import { answerGate } from '../../rules/recommendations/gates.ts'
import { findMonetization } from '../../store/recommendations/monetization.ts'
import { listLatestReplies, listPreviewOffers, type PreviewOffer } from '../../store/recommendations/reports.ts'
import type { ConsoleRequest } from '../console-request.ts'

import type { World } from '../world.ts'

/** A reply with a recommendation, as the gateway would have sent it. */

const REPLY_LENGTH_MAX = 6_000
const OFFERS_MAX = 50

const SAMPLE_REPLY = [
  'For a first trip of two or three days, three things decide whether you sleep well:',
  '',
  '1. **A tent that you can put up alone.** Two poles, not four.',
  '2. **A mat that is warm enough.** The ground takes more warmth than the air.',
  '3. **A sleeping bag for the coldest night**, not for the average one.',
  '',
  'Borrow the rest, and buy it when you know that you like it.',
].join('\n')

const SAMPLE_OFFER = {
  advertiser: 'Example Shop',
  headline: 'Trail Two tent',
  benefit: 'light, and put up by one person in five minutes',
  price: { amount: '149.00', currency: 'EUR' },
}

/** As long as a real one. The links of a preview lead nowhere. */
const SAMPLE_TOKEN = 'preview'.padEnd(TOKEN_CHARS, '0')

export async function previewOf(world: World, call: ConsoleRequest<'GET /api/projects/:project/monetization/preview'>) {
  const { project, query } = call
  const { settings, replies } = await call.inTenant(async (db) => ({
    settings: await findMonetization(db, project.id),
    replies: await listLatestReplies(db, project.id, REPLY_LENGTH_MAX),
  }))
  const label = labelOf(query.label ?? settings.label)
  if (label === undefined) throw wrongFields([{ path: 'label', message: 'Choose one of the labels.' }])
  const format = query.format ?? settings.format
  // Only a reply that would have had one: nobody sees a recommendation after code or a refusal.
  const reply = replies.find(({ text }) => isFit(text))
  // Of the catalogue a tenant may read only what its readers were shown; this is one offer of those they could be.
  const blocks = blocksOf({ ...settings, seenOffers: [] })
  const offer = (await listPreviewOffers(world.db, OFFERS_MAX)).find(
    (each) =>
      !isCampaignBlocked(each, blocks) &&
      !isOfferBlocked({ id: each.id, host: each.domain, category: each.category }, blocks),
  )
  const shown = offer ? shownOf(offer) : SAMPLE_OFFER
  const { gatewayUrl: publicUrl } = world.installation
  return {
    label,
    format,
    reply: reply?.text ?? SAMPLE_REPLY,
    block: renderBlock({ ...shown, label, format, publicUrl, token: SAMPLE_TOKEN }),
    conversation: reply ? { id: reply.conversationId, at: reply.createdAt } : null,
    advertiser: offer?.advertiser ?? null,
  }
}

function isFit(text: string): boolean {
  return answerGate({ text, finishReason: 'stop', hasRefusal: false, hasToolCalls: false }) === undefined
}

function shownOf(offer: PreviewOffer): Pick<Block, 'advertiser' | 'headline' | 'benefit' | 'price'> {
  const { advertiser, headline, benefit, amount, currency } = offer
  return { advertiser, headline, benefit, price: amount && currency ? { amount, currency } : undefined }
}
