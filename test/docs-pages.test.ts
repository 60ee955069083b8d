import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { GUIDES } from '../dashboard/src/pages/docs/guides.ts'
import { anchorOf, publishedText } from '../dashboard/src/pages/docs/published.ts'
import { ERRORS } from '../src/rules/errors.ts'

/** The pages under /docs are the files of docs/, all of them, and their links lead somewhere. */

const ROOT = join(import.meta.dirname, '..')
const texts = new Map(GUIDES.map((guide) => [guide.name, readFileSync(join(ROOT, guide.file), 'utf8')]))

test('every page of docs/ is served, under its own title', () => {
  const files = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  // How we write is for those who write.
  const pages = files
    .filter((name) => name.endsWith('.md') && name !== 'style-of-words.md')
    .map((name) => `docs/${name}`)
  assert.deepEqual(GUIDES.map(({ file }) => file).toSorted(), pages.toSorted())
  assert.equal(new Set(GUIDES.map(({ name }) => name)).size, GUIDES.length)
  for (const { name, title, about } of GUIDES) {
    assert.equal(texts.get(name)?.split('\n')[0], `# ${title}`, name)
    assert.match(about, /^\S.*\.$/)
  }
})

/** Returns the anchors of a page: its headings, and the codes of errors. */
function anchorsOf(name: string): Set<string> {
  const prose = String(texts.get(name)).replaceAll(/^```[^]*?^```$/gm, '')
  const headings = [...prose.matchAll(/^#{1,4} (.+)$/gm)].map(([, words = '']) => anchorOf(words.replaceAll('`', '')))
  return new Set([...headings, ...(name === 'errors' ? Object.keys(ERRORS) : [])])
}

test('links between the pages lead to a page and to a place on it', () => {
  let count = 0
  const broken: string[] = []
  for (const guide of GUIDES) {
    const prose = publishedText(String(texts.get(guide.name)), guide).replaceAll(/^```[^]*?^```$/gm, '')
    for (const [, target = '', hash = ''] of prose.matchAll(/\]\((\/docs\/[\w-]+\.md)?(?:#([^)\s]*))?\)/g)) {
      const name = target === '' ? guide.name : target.slice('/docs/'.length, -'.md'.length)
      count++
      if (!texts.has(name) || (hash !== '' && !anchorsOf(name).has(hash)))
        broken.push(`${guide.name}: ${target}#${hash}`)
    }
  }
  assert.deepEqual(broken, [])
  assert.ok(count > 80, `${count} links`)
})

test('a page that is served has no link and no picture that is not', () => {
  for (const guide of GUIDES) {
    const prose = publishedText(String(texts.get(guide.name)), guide).replaceAll(/^```[^]*?^```$/gm, '')
    assert.doesNotMatch(prose, /\]\((?!https?:|#|\/docs\/|mailto:)[^)]*\)|<img|!\[|<!--/, guide.name)
  }
})
