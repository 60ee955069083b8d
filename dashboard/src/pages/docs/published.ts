import { GUIDE_GROUPS, GUIDES, type Guide } from './guides.ts'

/** Selects the repository's Markdown that is served, and adapts it to readers outside of the repository. */

/** Links lead to other pages that are served; pictures and files that are not are left out, and their words stay. */
export function publishedText(markdown: string, { file }: Guide): string {
  return markdown
    .split(/^(```[^]*?^```)$/m)
    .map((part, n) => (n % 2 === 1 ? part : publishedProse(part, file)))
    .join('')
}

function publishedProse(text: string, file: string): string {
  return text
    .replaceAll(/<!--[^]*?-->\n*|^!\[[^\]]*\]\([^)]*\)\n?|<img [^>]*>[ \n]?/gm, '')
    .replaceAll(
      /\[([^\]]+)\]\((?!https?:|#|\/|mailto:)([^)\s#]+)(#[^)\s]*)?\)/g,
      (_, words: string, path: string, hash = '') => {
        const target = pathFrom(file, path)
        const guide = GUIDES.find((each) => each.file === target)
        return guide ? `[${words}](/docs/${guide.name}.md${hash})` : words
      },
    )
    .replaceAll(/\n{3,}/g, '\n\n')
}

/** `docs/errors.md`, of `../errors.md` in `docs/guides/streaming.md`. */
function pathFrom(file: string, relative: string): string {
  return new URL(relative, `http://repository/${file}`).pathname.slice(1)
}

/** For models that are asked about Parley: what there is to read, each as plain Markdown. */
export function llmsText(): string {
  const groups = GUIDE_GROUPS.map(({ title, guides }) => {
    const lines = guides.map((each) => `- [${each.title}](/docs/${each.name}.md): ${each.about}`)
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  return `# Parley

> A gateway that publishers put between their apps and language models: OpenAI-format requests in, any provider behind, prepaid credit charged exactly, conversations grouped, optional labelled recommendations. Self-hosted.

Every call carries both keys of a pair, in the headers x-publishable-key and x-secret-key. The whole API is described in [OpenAPI 3.1](/openapi.json).

${groups.join('\n')}`
}

/** As GitHub makes them, so that a link in the repository leads to the same place here. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

export interface Section {
  /** Empty: what stands before the first heading. */
  title: string
  anchor: string
  text: string
}

/** A page by its headings of the second level. The title of the page itself is left out. */
export function sectionsOf(markdown: string): Section[] {
  let section: Section = { title: '', anchor: '', text: '' }
  const sections = [section]
  let isCode = false
  for (const line of markdown.replace(/^# .*\n+/, '').split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    const [, title] = isCode ? [] : (/^## (.+)$/.exec(line) ?? [])
    if (title === undefined) {
      section.text += `${line}\n`
      continue
    }
    section = { title: plainOf(title), anchor: anchorOf(plainOf(title)), text: '' }
    sections.push(section)
  }
  return sections.filter(({ title, text }) => title !== '' || text.trim() !== '')
}

function plainOf(heading: string): string {
  return heading.replaceAll('`', '')
}
