/** Prices as feeds write them: "249.00 EUR", "$249", "1.249,00 EUR". */
export interface MerchantPrice {
  /** In the currency's units, with two decimals: "249.00". */
  amount: string
  currency: string
}

const SIGNS: Record<string, string> = {
  $: 'USD',
  US$: 'USD',
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY',
  '₹': 'INR',
  '₩': 'KRW',
  '₽': 'RUB',
  '₺': 'TRY',
  '₴': 'UAH',
  zł: 'PLN',
  C$: 'CAD',
  CA$: 'CAD',
  A$: 'AUD',
  AU$: 'AUD',
  R$: 'BRL',
}

const CURRENCIES = new Set(
  (
    'AED ALL AMD ARS AUD AZN BAM BDT BGN BHD BOB BRL BYN CAD CHF CLP CNY COP CRC CZK DKK DOP DZD EGP EUR GBP GEL GHS GTQ HKD HNL HRK ' +
    'HUF IDR ILS INR ISK JMD JOD JPY KES KRW KWD KZT LBP LKR MAD MDL MKD MXN MYR NGN NIO NOK NPR NZD OMR PAB PEN PHP PKR PLN PYG QAR ' +
    'RON RSD RUB SAR SEK SGD THB TND TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND XAF XOF ZAR ZMW'
  ).split(' '),
)

/** No shop writes more around an amount. */
const CHARACTERS_MAX = 100
/** numeric(14, 2) holds more, no shop asks more. */
const WHOLE_DIGITS_MAX = 9

/** Or why it is none, as the rest of a sentence. `currency` is that of its own field, where a feed has one. */
export function parsePrice(text: string, currency?: string): MerchantPrice | string {
  if (text.length > CHARACTERS_MAX) return `the price "${shortened(text)}" is too long`
  const bare = text.replaceAll(/[\s\u00a0\u202f]+/g, ' ').trim()
  const number = /\d(?:[\d.,' ]*\d)?/.exec(bare)
  if (!number || bare.startsWith('-')) return `the price "${shortened(bare)}" has no amount`
  const around = [bare.slice(0, number.index), bare.slice(number.index + number[0].length)].map((part) =>
    part.replaceAll(/[.,\s]+$|^[.,\s]+/g, ''),
  )
  const named = around.filter((part) => part !== '')
  if (named.length > 1) return `the price "${shortened(bare)}" is not an amount and a currency`
  const code = currencyOf(named[0] ?? currency ?? '')
  if (code === undefined) {
    return named.length === 0 && currency === undefined
      ? `the price "${shortened(bare)}" has no currency`
      : `"${shortened(named[0] ?? currency ?? '')}" is not a currency`
  }
  const amount = amountOf(number[0])
  if (amount === undefined) return `the price "${shortened(bare)}" cannot be read: write it like 1249.00 EUR`
  if (/^0\.00$/.test(amount)) return 'the price is zero'
  return { amount, currency: code }
}

function currencyOf(text: string): string | undefined {
  const upper = text.trim().toUpperCase()
  if (CURRENCIES.has(upper)) return upper
  return SIGNS[text.trim()] ?? SIGNS[upper]
}

/**
 * The last of two kinds of separators is the decimal one. A single one in front of exactly three digits separates
 * thousands ("1.249"), because prices have two decimals; after a zero it does not ("0.999").
 */
function amountOf(text: string): string | undefined {
  const compact = text.replaceAll(/[ ']/g, '')
  const last = Math.max(compact.lastIndexOf('.'), compact.lastIndexOf(','))
  if (last === -1) return fitting(compact, '')
  const sign = compact.charAt(last)
  const before = compact.slice(0, last)
  const decimals = compact.slice(last + 1)
  const isMixed = before.includes(sign === '.' ? ',' : '.')
  const isRepeated = before.includes(sign)
  if (isMixed && isRepeated) return undefined
  const isThousands = isRepeated || (!isMixed && decimals.length === 3 && !/^0*$/.test(before))
  const [whole, part] = isThousands ? [compact, ''] : [before, decimals]
  const groups = whole.split(/[.,]/)
  const isGrouped = groups.length === 1 || groups.slice(1).every((group) => group.length === 3)
  return isGrouped ? fitting(groups.join(''), part) : undefined
}

function fitting(whole: string, decimals: string): string | undefined {
  // "10.5000" is written by shops that keep four decimals; "10.5678" is a mistake.
  const part = decimals.replace(/(?<=^\d{2})0+$/, '')
  const digits = whole.replace(/^0+(?=\d)/, '')
  if (part.length > 2 || digits.length > WHOLE_DIGITS_MAX) return undefined
  return `${digits}.${part.padEnd(2, '0')}`
}

function shortened(text: string): string {
  return text.length <= 30 ? text : `${text.slice(0, 30)}…`
}
