/** Stripe's names of networks, as people write them. */
const BRANDS: Record<string, string> = {
  amex: 'American Express',
  diners: 'Diners Club',
  eftpos_au: 'eftpos',
  jcb: 'JCB',
  unionpay: 'UnionPay',
  unknown: 'Card',
}

export function cardInWords({ brand, last4 }: { brand: string; last4: string }): string {
  const known = Object.hasOwn(BRANDS, brand) ? BRANDS[brand] : undefined
  return `${known ?? brand.charAt(0).toUpperCase() + brand.slice(1)} ending in ${last4}`
}

export function expiryOf({ expMonth, expYear }: { expMonth: number; expYear: number }): string {
  return `${String(expMonth).padStart(2, '0')}/${expYear}`
}
