import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePrice } from './merchant-price.ts'

const read = (text: string, currency?: string) => {
  const price = parsePrice(text, currency)
  return typeof price === 'string' ? price : `${price.amount} ${price.currency}`
}

test('prices are read as shops around the world write them', () => {
  for (const [text, meant] of [
    ['249.00 EUR', '249.00 EUR'],
    ['249 EUR', '249.00 EUR'],
    ['EUR 249.00', '249.00 EUR'],
    ['$249', '249.00 USD'],
    ['US$ 249.50', '249.50 USD'],
    ['249,00 €', '249.00 EUR'],
    ['1.249,00 EUR', '1249.00 EUR'],
    ['1,249.00 USD', '1249.00 USD'],
    ['1.249 EUR', '1249.00 EUR'],
    ['1,249 USD', '1249.00 USD'],
    ['1,234,567.89 USD', '1234567.89 USD'],
    ['1.234.567 EUR', '1234567.00 EUR'],
    ["1'249.00 CHF", '1249.00 CHF'],
    ['1 249,00 PLN', '1249.00 PLN'],
    ['1\u202f249,00\u00a0€', '1249.00 EUR'],
    ['0.999 USD', '0.999 is not two decimals'],
    ['19.9 gbp', '19.90 GBP'],
    ['10.5000 USD', '10.50 USD'],
    ['£5', '5.00 GBP'],
    ['0049.90 EUR', '49.90 EUR'],
  ] as const) {
    if (meant.endsWith('decimals')) assert.match(read(text), /cannot be read/)
    else assert.equal(read(text), meant, text)
  }
})

test('a currency of its own field is used when the price has none, and what the price says comes first', () => {
  assert.equal(read('249', 'EUR'), '249.00 EUR')
  assert.equal(read('249.00 USD', 'EUR'), '249.00 USD')
})

test('what is not one amount in one currency is refused with the reason', () => {
  for (const [text, why] of [
    ['', /no amount/],
    ['free', /no amount/],
    ['-5 EUR', /no amount/],
    ['249', /no currency/],
    ['249 XYZ', /not a currency/],
    ['249 kr', /not a currency/],
    ['from 249 EUR', /not an amount and a currency/],
    ['10.5678 USD', /cannot be read/],
    ['1.2.3 EUR', /cannot be read/],
    ['1,23,456 INR', /cannot be read/],
    ['0 EUR', /zero/],
    ['0.00 EUR', /zero/],
    ['99999999999 EUR', /cannot be read/],
  ] as const) {
    assert.match(read(text), why, text)
  }
})
