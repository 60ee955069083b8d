/** "g:image_link", "Image Link", "imageLink" and "image-link" are one name. */
export function fieldNameOf(text: string): string {
  return text
    .trim()
    .replace(/^g:/i, '')
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '_')
}
