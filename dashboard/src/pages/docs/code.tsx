import { CodeBlock } from '../../components/code-block.tsx'

const TITLES: Record<string, string> = {
  sh: 'Shell',
  js: 'JavaScript',
  ts: 'TypeScript',
  json: 'JSON',
  python: 'Python',
  http: 'Events',
  sql: 'SQL',
}

/** An example of the documentation, called by its language unless it has a name of its own. */
export function Code({ code, language, title }: { code: string; language: string; title?: string }) {
  return <CodeBlock title={title ?? TITLES[language] ?? 'Text'} code={code} language={language} />
}
