/** How an offer stands, as its advertiser is told. What comes first in the list hides what comes after it. */
export const OFFER_STANDINGS = [
  'withdrawn',
  'rejected',
  'waiting',
  'stopped',
  'out_of_stock',
  'outdated',
  'approved',
] as const
export type OfferStanding = (typeof OFFER_STANDINGS)[number]

export interface ReviewedOffer {
  standing: OfferStanding
  availability: string
  /** The reason given by the person who decided, or by the rule that asks for a person. */
  reviewReason: string | null
}

/** In a sentence or two, for the advertiser. */
export function explainOffer({ standing, availability, reviewReason }: ReviewedOffer): string {
  switch (standing) {
    case 'withdrawn':
      return 'It is no longer in any of your feeds.'
    case 'rejected':
      return reviewReason === null
        ? 'The operator rejected it and gave no reason. Changed words are looked at again.'
        : `The operator rejected it: ${ended(reviewReason)} Changed words are looked at again.`
    case 'waiting':
      return reviewReason === null
        ? 'The operator looks at it before it is recommended.'
        : `The operator looks at it before it is recommended: ${ended(reviewReason)}`
    case 'stopped':
      return 'Readers have reported it, and where they did it is not recommended until the operator has looked at it.'
    case 'out_of_stock':
      return `Your feed says that it is ${WORDS[availability] ?? 'not in stock'}. Only what is in stock is recommended.`
    case 'outdated':
      return 'Its feed was not published for 30 days, so nobody knows whether it is still so.'
    case 'approved':
      return 'It is recommended where it fits while its campaign runs.'
  }
}

const WORDS: Record<string, string> = {
  out_of_stock: 'out of stock',
  preorder: 'for pre-order',
  backorder: 'on back-order',
}

/** Reasons of rules are parts of a sentence, and those of people mostly end as sentences do. */
function ended(reason: string): string {
  return /[.!?…]$/.test(reason) ? reason : `${reason}.`
}
