/** The problems that axe finds in a page as it is now. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

export interface Scope {
  isColoursOnly: boolean
}

export async function violationsOf(page: Page, { isColoursOnly }: Scope): Promise<string[]> {
  // It is half a megabyte, so a page that is looked at twice reads it once.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe.source)
  return page.evaluate<string[]>(`axe.run(${JSON.stringify(await optionsFor(page, isColoursOnly))}).then(${DESCRIBE})`)
}

async function optionsFor(page: Page, isColoursOnly: boolean): Promise<axe.RunOptions> {
  // Describing everything that is in order, too, would take most of the time.
  const options: axe.RunOptions = { resultTypes: ['violations'] }
  if (isColoursOnly) return { ...options, runOnly: ['color-contrast'] }
  // A menu floats over the page and belongs to none of its regions.
  const isMenuOpen = (await page.getByRole('menu').count()) > 0
  return { ...options, rules: { region: { enabled: !isMenuOpen } } }
}

const DESCRIBE = `({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + ' ' + failureSummary))`
