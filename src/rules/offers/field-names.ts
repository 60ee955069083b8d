/** An item as the feed has it, whatever the format: names in lower case with underscores, and the values as text. */
export type FeedFields = Readonly<Record<string, string | undefined>>

/** One field has several names, because several formats do. The first that is there counts. */
export const FIELD_NAMES = {
  id: ['id', 'item_id', 'offer_id', 'sku'],
  title: ['title', 'name'],
  shortTitle: ['short_title', 'headline'],
  description: ['description', 'body'],
  highlight: ['benefit', 'product_highlight', 'highlight'],
  link: ['link', 'url', 'product_url'],
  imageLink: ['image_link', 'image_url', 'image'],
  price: ['price'],
  salePrice: ['sale_price'],
  salePeriod: ['sale_price_effective_date'],
  currency: ['currency', 'price_currency'],
  availability: ['availability'],
  condition: ['condition'],
  brand: ['brand', 'manufacturer'],
  gtin: ['gtin', 'gtin13', 'gtin14', 'gtin12', 'gtin8', 'ean', 'upc'],
  category: ['product_type', 'product_category', 'category', 'google_product_category'],
  taxonomy: ['google_product_category'],
  group: ['item_group_id', 'group_id'],
  language: ['language', 'content_language', 'in_language', 'lang'],
  adult: ['adult', 'is_adult'],
} as const

export type FieldName = keyof typeof FIELD_NAMES

export function fieldOf(fields: FeedFields, name: FieldName): string {
  for (const candidate of FIELD_NAMES[name]) {
    const value = fields[candidate]?.trim()
    if (value !== undefined && value !== '') return value
  }
  return ''
}

/** "g:image_link", "Image Link", "imageLink" and "image-link" are one name. */
export function fieldNameOf(text: string): string {
  return text
    .trim()
    .replace(/^g:/i, '')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '_')
}
