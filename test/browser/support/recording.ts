/**
 * Recordings of the console's answers when a picture was taken, kept so that it can be taken again: of the pages as they are
 * now, with the same data, at the same moment, without a database.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext } from 'playwright-core'
import { openFor, sayingWhatToAnswer, shoot, type Picture, type Shown } from './docs-pictures.ts'

const FOLDER = join(import.meta.dirname, '../../fixtures/docs-images')

interface Answer {
  status: number
  type: string
  body: string
}

export interface Recording {
  /** The clock of the page. */
  at: string
  path: string
  /** By method and address; of several answers the last one. */
  answers: Record<string, Answer>
  /** The words of the page, in the order of its accessibility tree. */
  words: string[]
}

const keyOf = (method: string, url: string) => `${method} ${url.replace(/^https?:\/\/[^/]+/, '')}`
const isApi = (url: string) => new URL(url).pathname.startsWith('/api/')

/** Keeps every answer that the pages of this context are given from now on. */
export async function listen(context: BrowserContext, consoleUrl: string): Promise<Recording['answers']> {
  const answers: Recording['answers'] = {}
  await context.route(
    (url) => isApi(url.href),
    async (route) => {
      const request = route.request()
      const { pathname, search } = new URL(request.url())
      const sent = request.postData()
      const response = await route.fetch({
        url: `${consoleUrl}${pathname}${search}`,
        ...(sent !== null && { postData: sayingWhatToAnswer(sent) }),
      })
      answers[keyOf(request.method(), request.url())] = {
        status: response.status(),
        type: response.headers()['content-type'] ?? '',
        body: fitToShow(await response.text()),
      }
      await route.fulfill({ response })
    },
  )
  return answers
}

/**
 * A secret is masked in the picture, and must not look like a real one to whoever searches this folder for leaked keys.
 * Readers know the gateway by a name, and not by the port of a test.
 */
function fitToShow(body: string): string {
  return body
    .replaceAll(/ply_sk_\w+/g, `ply_sk_${'x'.repeat(40)}`)
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'https://parley.example.com')
}

export async function replay(browser: Browser, baseURL: string, picture: Picture): Promise<Shown> {
  const { at, path, answers } = await readRecording(picture.name)
  const context = await openFor(browser, picture, baseURL)
  const unknown: string[] = []
  await context.route(
    (url) => isApi(url.href),
    (route) => {
      const key = keyOf(route.request().method(), route.request().url())
      const answer = answers[key]
      if (!answer) unknown.push(key)
      const { status, type, body } = answer ?? { status: 404, type: 'application/json', body: '{}' }
      return route.fulfill({ status, contentType: type, body })
    },
  )
  try {
    const page = await context.newPage()
    await page.clock.setFixedTime(at)
    const shown = await shoot(page, picture, path).catch((error: unknown) => error as Error)
    if (unknown.length > 0)
      throw new Error(
        `${picture.name} asks for what was not recorded (npm run screenshots -- --record): ${unknown.join(', ')}`,
      )
    if (shown instanceof Error) throw shown
    return shown
  } finally {
    await context.close()
  }
}

export async function readRecording(name: string): Promise<Recording> {
  return JSON.parse(await readFile(join(FOLDER, `${name}.json`), 'utf8')) as Recording
}

export async function writeRecording(name: string, recording: Recording): Promise<void> {
  const answers = Object.entries(recording.answers).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify({ ...recording, answers: Object.fromEntries(answers) }, null, 1)
  await writeFile(join(FOLDER, `${name}.json`), `${text}\n`)
}
