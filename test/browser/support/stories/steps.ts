/** Short names for the steps that users take. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { ParleyError } from '../../../../src/rules/errors.ts'
import { wrongFields } from '../canned-console.ts'
import { PROJECT, PUBLISHER } from '../replies/ids.ts'

export const at = (path: string) => `/projects/${PROJECT}${path}`
export const ofPublisher = (path: string) => `/publishers/${PUBLISHER}${path}`

/** A field that the server finds wrong, though the page did not. */
export const wrong = (path: string) => wrongFields([{ path, message: `The server says what is wrong with ${path}.` }])
export const conflict = new ParleyError('conflict', { message: 'The server says why this is not possible now.' })
export const proofNeeded = new ParleyError('proof_needed')

export async function press(page: Page, ...names: string[]): Promise<void> {
  for (const name of names) await page.getByRole('button', { name, exact: true }).first().click()
}

export async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).first().fill(text)
}

export async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name: label, exact: true }).selectOption({ label: option })
}

/** Opens the menu behind a button, and takes something from it. */
export async function pick(page: Page, menu: string | RegExp, item: string, nth = 0): Promise<void> {
  await page.getByRole('button', { name: menu }).nth(nth).click()
  await page.getByRole('menuitem', { name: item }).click()
}

export async function inDialog(page: Page, button: string, fields: Record<string, string> = {}): Promise<void> {
  const dialog = page.getByRole('dialog').last()
  for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text)
  await dialog.getByRole('button', { name: button, exact: true }).click()
}

/** Returns what was copied. */
export async function copied(page: Page, button: string): Promise<string> {
  await page.getByRole('button', { name: button, exact: true }).first().click()
  return page.evaluate<string>('window.parleyCopied')
}

/** Returns the name and the text of the file. */
export async function downloaded(page: Page, press_: () => Promise<unknown>): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), press_()])
  return `${download.suggestedFilename()}\n${await readFile(await download.path(), 'utf8')}`
}
