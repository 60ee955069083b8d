import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Pages that the build leaves with marks in them, such as `<!--figures-->`, which the server fills. */
export type Template = (parts: Record<string, string>) => string

const MARK = /<!--([\w-]+)-->/g
/** As in dashboard/src/shell/wordmark.tsx. */
const LOGO = `<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M9 24V9.5h8.2a5.4 5.4 0 0 1 0 10.8H13" fill="none" stroke="#fff" stroke-width="3.2" stroke-linecap="round" stroke-linejoin="round"/><circle cx="23" cy="23" r="2.2" fill="#f2b872"/></svg>`

/** Undefined: the web app is not built. */
export function openTemplate(webRoot: string, name: 'front.html' | 'status.html' | 'ads.html'): Template | undefined {
  const html = textOf(join(webRoot, name))
  if (html === undefined) return undefined
  return (parts) => {
    const filled = { mark: LOGO, ...parts }
    return html.replaceAll(MARK, (_, mark: string) => {
      const part = filled[mark as keyof typeof filled]
      if (part === undefined) throw new Error(`${name} has a mark that nobody fills: ${mark}`)
      return part
    })
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
