import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeItem } from '../../rules/offers/feed-item.ts'
import type { FeedItem } from './feed-item.ts'
import { openFeed } from './feed-items.ts'

async function read(text: string) {
  const { format, items } = await openFeed(
    (async function* () {
      // In pieces, as it comes from a socket.
      for (let n = 0; n < text.length; n += 100) yield text.slice(n, n + 100)
    })(),
  )
  const all: FeedItem[] = []
  for await (const item of items) all.push(item)
  return { format, items: all }
}

/** Judges each item: the essentials of an accepted one, or why it is refused. */
function judged(items: readonly FeedItem[], currency: string | undefined = 'EUR') {
  return items.map((item) => {
    if ('problem' in item) return item.problem
    const verdict = judgeItem(item.fields, { domain: 'shop.example', ...(currency !== undefined && { currency }) })
    if (verdict.verdict === 'rejected') return verdict.reason
    const {
      itemId,
      itemGroupId,
      title,
      link,
      price,
      currency: its,
      availability,
      brand,
      category,
      description,
    } = verdict.offer
    return { itemId, itemGroupId, title, link, price: `${price} ${its}`, availability, brand, category, description }
  })
}

const LAMP = {
  id: 7_001,
  title: 'Aurora desk lamp',
  handle: 'aurora-desk-lamp',
  body_html: '<p>Warm light, <b>no flicker</b>.</p>',
  vendor: 'Nordlicht',
  product_type: 'Lighting',
  tags: ['lamp'],
  variants: [
    { id: 91, title: 'Black', sku: 'AUR-B', price: '49.00', compare_at_price: '59.00', available: true },
    { id: 92, title: 'Brass', sku: 'AUR-G', price: '69.00', available: false },
  ],
  images: [{ src: 'https://cdn.shop.example/aurora.jpg' }],
}
const SHADE = {
  ...LAMP,
  id: 7_002,
  title: 'Shade',
  handle: 'shade',
  variants: [{ id: 93, title: 'Default Title', price: '9.50', available: true }],
}

test('a Shopify shop’s products.json has an offer for each variant, with the link that leads to it', async () => {
  const { format, items } = await read(JSON.stringify({ products: [LAMP, SHADE] }))
  assert.equal(format, 'json')
  const both = { itemGroupId: '7001', brand: 'Nordlicht', category: 'Lighting', description: 'Warm light, no flicker.' }
  assert.deepEqual(judged(items), [
    {
      ...both,
      itemId: '91',
      title: 'Aurora desk lamp, Black',
      link: 'https://shop.example/products/aurora-desk-lamp?variant=91',
      price: '49.00 EUR',
      availability: 'in_stock',
    },
    {
      ...both,
      itemId: '92',
      title: 'Aurora desk lamp, Brass',
      link: 'https://shop.example/products/aurora-desk-lamp?variant=92',
      price: '69.00 EUR',
      availability: 'out_of_stock',
    },
    {
      ...both,
      itemGroupId: null,
      itemId: '93',
      title: 'Shade',
      link: 'https://shop.example/products/shade',
      price: '9.50 EUR',
      availability: 'in_stock',
    },
  ])
})

test('without a currency in the feed’s settings a Shopify price is refused, and never guessed', async () => {
  const { items } = await read(JSON.stringify({ products: [SHADE] }))
  const verdict = 'fields' in items[0]! ? judgeItem(items[0].fields, { domain: 'shop.example' }) : undefined
  assert.ok(verdict?.verdict === 'rejected')
  assert.match(verdict.reason, /price "9\.50" has no currency/)
})

test('of the Admin API, a draft or what is sold out is not in stock, and what is sold without counting is', async () => {
  const variant = {
    id: 1,
    title: 'Default Title',
    price: '1.00',
    inventory_management: 'shopify',
    inventory_policy: 'deny',
  }
  const products = [
    { ...SHADE, status: 'draft', variants: [{ ...variant, id: 1, inventory_quantity: 5 }] },
    { ...SHADE, status: 'active', variants: [{ ...variant, id: 2, inventory_quantity: 5 }] },
    { ...SHADE, status: 'active', variants: [{ ...variant, id: 3, inventory_quantity: 0 }] },
    {
      ...SHADE,
      status: 'active',
      variants: [{ ...variant, id: 4, inventory_quantity: 0, inventory_policy: 'continue' }],
    },
    { ...SHADE, status: 'active', variants: [{ ...variant, id: 5, inventory_management: null }] },
  ]
  const { items } = await read(JSON.stringify({ products }))
  assert.deepEqual(
    judged(items).map((one) => typeof one !== 'string' && one.availability),
    ['out_of_stock', 'in_stock', 'out_of_stock', 'in_stock', 'in_stock'],
  )
})

const OLD_EXPORT = `Handle,Title,Body (HTML),Vendor,Type,Published,Option1 Name,Option1 Value,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,Image Src,Status
aurora,Aurora desk lamp,"<p>Warm light.</p>",Nordlicht,Lighting,true,Colour,Black,AUR-B,shopify,3,deny,49.00,https://cdn.shop.example/a.jpg,active
aurora,,,,,,,Brass,AUR-G,shopify,0,deny,69.00,https://cdn.shop.example/b.jpg,
aurora,,,,,,,,,,,,,https://cdn.shop.example/c.jpg,
shade,Shade,,Nordlicht,Lighting,true,Title,Default Title,,,,deny,9.50,,active
old,Old lamp,,Nordlicht,Lighting,false,Title,Default Title,OLD,,,deny,5.00,,archived
stray,,,,,,,,ST,,,deny,5.00,,
`

test('a product export has what the first row of a product says for all its variants, and rows of pictures are none', async () => {
  const { format, items } = await read(OLD_EXPORT)
  assert.equal(format, 'csv')
  const brief = judged(items).map((one) => {
    return typeof one === 'string'
      ? one
      : [one.itemId, one.itemGroupId, one.title, one.link, one.price, one.availability]
  })
  const aurora = 'https://shop.example/products/aurora'
  assert.deepEqual(brief, [
    ['AUR-B', 'aurora', 'Aurora desk lamp, Black', aurora, '49.00 EUR', 'in_stock'],
    ['AUR-G', 'aurora', 'Aurora desk lamp, Brass', aurora, '69.00 EUR', 'out_of_stock'],
    ['shade', 'shade', 'Shade', 'https://shop.example/products/shade', '9.50 EUR', 'in_stock'],
    ['OLD', 'old', 'Old lamp', 'https://shop.example/products/old', '5.00 EUR', 'out_of_stock'],
    'title is missing',
  ])
})

test('an export with the columns’ new names is the same', async () => {
  const { items } =
    await read(`Title,URL handle,Description,Vendor,Type,Published on online store,Status,SKU,Option1 value,Price,Inventory tracker,Inventory quantity,Continue selling when out of stock
Aurora desk lamp,aurora,Warm.,Nordlicht,Lighting,TRUE,Active,AUR-B,Black,49.00,shopify,0,TRUE
,aurora,,,,,,AUR-G,Brass,69.00,shopify,0,FALSE
`)
  assert.deepEqual(
    judged(items).map((one) => (typeof one === 'string' ? one : [one.itemId, one.title, one.availability])),
    [
      ['AUR-B', 'Aurora desk lamp, Black', 'in_stock'],
      ['AUR-G', 'Aurora desk lamp, Brass', 'out_of_stock'],
    ],
  )
})

test('a link that names a page alone stays on the advertiser’s domain', () => {
  const fields = { id: '1', title: 'Lamp', price: '1 EUR', availability: 'in_stock' }
  const linkOf = (link: string) => {
    const verdict = judgeItem({ ...fields, link }, { domain: 'shop.example' })
    return verdict.verdict === 'accepted' ? verdict.offer.link : verdict.reason
  }
  assert.equal(linkOf('/products/lamp'), 'https://shop.example/products/lamp')
  for (const away of ['//elsewhere.example/x', '/\\elsewhere.example/x'])
    assert.match(linkOf(away), /must be an https address/)
  assert.match(linkOf('products/lamp'), /must be an https address/)
})
