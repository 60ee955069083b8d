import type { FeedFields } from '../../rules/offers/field-names.ts'
import { isRecord } from '../../rules/record.ts'
import { fieldNameOf } from '../../rules/offers/field-names.ts'
import { isShopifyProduct, shopifyVariants } from './shopify-products.ts'

type Json = Readonly<Record<string, unknown>>

/** How deep products may stand in lists, groups and offers. */
const DEPTH_MAX = 4
const PRODUCTS = new Set(['Product', 'ProductGroup', 'ProductModel', 'IndividualProduct', 'Vehicle', 'Car', 'Book'])

/**
 * The products that a JSON value holds: usually one, several for a group with variants, none for a breadcrumb list. One by
 * one, because a short text can hold very many.
 */
export function* fieldsOfJson(value: unknown): Generator<FeedFields> {
  if (!isRecord(value)) return
  const isSchemaOrg = '@type' in value || '@graph' in value || '@context' in value
  if (isSchemaOrg) yield* productsIn(value, DEPTH_MAX)
  else if (isShopifyProduct(value)) yield* shopifyVariants(value)
  else yield plainFields(value)
}

/** Merchant and commerce feeds: flat, with amounts sometimes as an object. */
function plainFields(value: Json): FeedFields {
  const entries = Object.entries(value).map(([name, field]): [string, string] => [fieldNameOf(name), textOf(field)])
  return Object.fromEntries(entries.toReversed())
}

function* productsIn(value: unknown, depth: number): Generator<FeedFields> {
  if (depth === 0) return
  if (Array.isArray(value)) for (const part of value) yield* productsIn(part, depth - 1)
  if (!isRecord(value)) return
  const kinds = kindsOf(value)
  if (kinds.has('ListItem')) {
    yield* productsIn(value.item, depth - 1)
  } else if (kinds.has('Offer') && isRecord(value.itemOffered)) {
    yield* productsIn({ ...value.itemOffered, offers: { ...value, itemOffered: undefined } }, depth - 1)
  } else if (kinds.has('ProductGroup') && Array.isArray(value.hasVariant)) {
    const { hasVariant, '@id': _, sku: __, offers: ___, ...shared } = value
    const group = value.productGroupID ?? value.sku ?? value['@id']
    for (const variant of hasVariant.filter(isRecord))
      yield* productsIn({ inProductGroupWithID: group, ...shared, '@type': 'Product', ...variant }, depth - 1)
  } else if ([...kinds].some((kind) => PRODUCTS.has(kind))) {
    yield productFields(value)
  } else if ('@graph' in value) {
    yield* productsIn(value['@graph'], depth - 1)
  }
}

function productFields(product: Json): FeedFields {
  const offer = firstOf(product.offers) ?? {}
  const asked = firstOf(offer.priceSpecification) ?? offer
  return {
    id: textOf(product.sku) || textOf(product.productID) || textOf(offer.sku) || textOf(product['@id']),
    title: textOf(product.name),
    description: textOf(product.description),
    link: textOf(product.url) || textOf(offer.url),
    image_link: textOf(firstOf(product.image)?.url) || textOf(product.image),
    price: textOf(asked.price) || textOf(offer.lowPrice),
    currency: textOf(asked.priceCurrency) || textOf(offer.priceCurrency),
    availability: textOf(offer.availability),
    condition: textOf(offer.itemCondition) || textOf(product.itemCondition),
    brand: textOf(firstOf(product.brand)?.name) || textOf(product.brand),
    gtin: ['gtin', 'gtin13', 'gtin14', 'gtin12', 'gtin8']
      .map((name) => textOf(product[name]))
      .find((text) => text !== ''),
    category: textOf(firstOf(product.category)?.name) || textOf(product.category),
    item_group_id: textOf(product.inProductGroupWithID) || textOf(firstOf(product.isVariantOf)?.productGroupID),
    language: textOf(product.inLanguage),
    adult: textOf(product.isFamilyFriendly) === 'false' ? 'yes' : '',
  }
}

function kindsOf(value: Json): Set<string> {
  const kinds = value['@type']
  const all: unknown[] = Array.isArray(kinds) ? kinds : [kinds]
  return new Set(all.filter((kind) => typeof kind === 'string').map((kind) => kind.split('/').at(-1) ?? ''))
}

/** The first object of one or many. */
function firstOf(value: unknown): Json | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value
  return isRecord(first) ? first : undefined
}

/** A value as a spreadsheet would have it. An amount with its currency is "249.00 EUR". */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  // Two decimals, so that no reader takes 1.249 for more than a thousand.
  if (typeof value === 'number')
    return Number.isInteger(value) || !Number.isFinite(value) ? String(value) : decimal(value)
  if (typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return textOf(value[0])
  if (!isRecord(value)) return ''
  const amount = value.value ?? value.amount
  if (amount === undefined) return textOf(value['@value'])
  return `${textOf(amount)} ${textOf(value.currency ?? value.currencyCode)}`.trim()
}

function decimal(value: number): string {
  const exact = value.toFixed(2)
  return Math.abs(Number(exact) - value) < 1e-9 ? exact : value.toFixed(4)
}
