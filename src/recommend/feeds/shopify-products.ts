import type { FeedFields } from '../../rules/offers/field-names.ts'

/**
 * The formats that shops on Shopify have without any app: their public products.json, the products of the Admin API, and the
 * product export (CSV), whose columns were renamed in 2025. Prices name no currency there and addresses no domain: the feed's
 * settings and the advertiser's domain do.
 */
type Json = Readonly<Record<string, unknown>>

/** Shopify's name for the one variant of a product without options. */
const NO_OPTION = 'Default Title'

export function isShopifyProduct(value: Json): boolean {
  return Array.isArray(value.variants) && typeof value.handle === 'string'
}

/** An offer for every variant: each has its own price and stock. */
export function* shopifyVariants(product: Json): Generator<FeedFields> {
  const variants = (product.variants as unknown[]).filter((one): one is Json => typeof one === 'object' && one !== null)
  const handle = encodeURIComponent(plain(product.handle))
  const isActive = product.status === undefined || product.status === 'active'
  for (const variant of variants) {
    const option = plain(variant.title)
    const id = plain(variant.id)
    yield {
      id: id || plain(variant.sku),
      item_group_id: variants.length > 1 ? plain(product.id) : '',
      title: titleOf(plain(product.title), option),
      description: plain(product.body_html),
      link: `/products/${handle}${id && variants.length > 1 ? `?variant=${encodeURIComponent(id)}` : ''}`,
      image_link: imageOf(variant.featured_image) || imageOf(product.image) || imageOf(firstIn(product.images)),
      price: plain(variant.price),
      availability: isActive && isInStock(variant) ? 'in_stock' : 'out_of_stock',
      brand: plain(product.vendor),
      product_type: plain(product.product_type),
      gtin: plain(variant.barcode),
    }
  }
}

/** The public list says whether it can be bought, the Admin API what there is. */
function isInStock({
  available,
  inventory_management: keeper,
  inventory_policy: policy,
  inventory_quantity: left,
}: Json) {
  if (typeof available === 'boolean') return available
  return keeper === null || policy === 'continue' || (typeof left === 'number' && left > 0)
}

function imageOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? plain((value as Json).src) : ''
}

function firstIn(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined
}

function plain(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function titleOf(title: string, option: string): string {
  return option === '' || option === NO_OPTION ? title : `${title}, ${option}`
}

/** The columns of an export, before and since they were renamed. */
const COLUMNS = {
  handle: ['handle', 'url_handle'],
  title: ['title'],
  description: ['body_(html)', 'description'],
  vendor: ['vendor'],
  type: ['type'],
  category: ['product_category'],
  published: ['published', 'published_on_online_store'],
  status: ['status'],
  sku: ['variant_sku', 'sku'],
  price: ['variant_price', 'price'],
  barcode: ['variant_barcode', 'barcode'],
  tracker: ['variant_inventory_tracker', 'inventory_tracker'],
  left: ['variant_inventory_qty', 'inventory_quantity'],
  policy: ['variant_inventory_policy', 'continue_selling_when_out_of_stock'],
  image: ['image_src', 'product_image_url'],
  variantImage: ['variant_image', 'variant_image_url'],
} as const

export function isShopifyExport(names: readonly string[]): boolean {
  return names.includes('url_handle') || (names.includes('handle') && names.includes('variant_price'))
}

/** Takes rows in their order: a product is said in its first one, and only its variants in those below. */
export function createShopifyExport(): (row: FeedFields) => FeedFields | undefined {
  let product: FeedFields = {}
  return (row) => {
    if (of(row, 'title') !== '') product = row
    const handle = of(row, 'handle')
    // A row with nothing but another picture.
    if (of(row, 'price') === '' && of(row, 'title') === '') return undefined
    // Below another product's rows: nobody knows what it is.
    const whole = of(product, 'handle') === handle ? product : {}
    const options = [1, 2, 3].map((n) => row[`option${n}_value`]?.trim() ?? '').filter((value) => value !== '')
    const isShown =
      of(whole, 'published').toLowerCase() !== 'false' && ['', 'active'].includes(of(whole, 'status').toLowerCase())
    return {
      id: of(row, 'sku') || [handle, ...options.filter((value) => value !== NO_OPTION)].join('-'),
      item_group_id: handle,
      title: titleOf(of(whole, 'title'), options.join(' / ')),
      description: of(whole, 'description'),
      link: `/products/${encodeURIComponent(handle)}`,
      image_link: of(row, 'variantImage') || of(whole, 'image'),
      price: of(row, 'price'),
      availability: isShown && isLeft(row) ? 'in_stock' : 'out_of_stock',
      brand: of(whole, 'vendor'),
      product_type: of(whole, 'type') || of(whole, 'category'),
      gtin: of(row, 'barcode').replace(/^'/, ''),
    }
  }
}

function isLeft(row: FeedFields): boolean {
  return (
    of(row, 'tracker') === '' ||
    ['continue', 'true'].includes(of(row, 'policy').toLowerCase()) ||
    Number(of(row, 'left')) > 0
  )
}

function of(row: FeedFields, name: keyof typeof COLUMNS): string {
  for (const column of COLUMNS[name]) {
    const value = row[column]?.trim()
    if (value !== undefined && value !== '') return value
  }
  return ''
}
