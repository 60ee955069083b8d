import type { Browser } from 'playwright-core'

/** So far apart are two colours that nobody takes for one: edges of letters differ by less between two builds of a browser. */
const FAR_APART = 48

/** Runs in a page: Chromium reads PNG as well as it writes it. */
const COMPARE = `async ([before, after]) => {
  const pixelsOf = async (data) => {
    const bitmap = await createImageBitmap(await (await fetch('data:image/png;base64,' + data)).blob())
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
    context.drawImage(bitmap, 0, 0)
    return context.getImageData(0, 0, bitmap.width, bitmap.height)
  }
  const [a, b] = await Promise.all([pixelsOf(before), pixelsOf(after)])
  if (a.width !== b.width || a.height !== b.height) return 1
  let different = 0
  for (let n = 0; n < a.data.length; n += 4)
    if ([0, 1, 2].some((k) => Math.abs(a.data[n + k] - b.data[n + k]) > ${FAR_APART})) different += 1
  return different / (a.data.length / 4)
}`

/** The share of their pixels that differ; 1 if they are not even of one size. */
export async function differenceBetween(browser: Browser, before: Buffer, after: Buffer): Promise<number> {
  const page = await browser.newPage()
  try {
    const images = JSON.stringify([before, after].map((image) => image.toString('base64')))
    return await page.evaluate<number>(`(${COMPARE})(${images})`)
  } finally {
    await page.close()
  }
}
