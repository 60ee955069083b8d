import { Link as RouterLink } from '@tanstack/react-router'
import { PageHeader } from '../../components/page-header.tsx'
import { GUIDE_GROUPS } from './guides.ts'

export function DocsPage() {
  return (
    <>
      <PageHeader
        title="Documentation"
        description="Everything about calling Parley, paying for it and running it. Each page is also plain Markdown, and llms.txt lists them for models."
      />
      <p className="mb-8 flex flex-wrap gap-x-5 gap-y-2 text-sm">
        <PlainLink href="/openapi.json">OpenAPI 3.1</PlainLink>
        <PlainLink href="/llms.txt">llms.txt</PlainLink>
      </p>
      <div className="flex flex-col gap-8">
        <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
          <Entry to="/docs/reference" title="API reference" about="Every endpoint, field, header and error." />
        </ul>
        {GUIDE_GROUPS.map(({ title, guides }) => (
          <section key={title}>
            <h2 className="mb-3 text-base font-semibold">{title}</h2>
            <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
              {guides.map((guide) => (
                <Entry key={guide.name} to={`/docs/${guide.name}`} title={guide.title} about={guide.about} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  )
}

function Entry({ to, title, about }: { to: string; title: string; about: string }) {
  return (
    <li>
      <RouterLink
        to={to}
        className="block h-full rounded-lg border border-line bg-surface px-4 py-3 shadow-card transition-colors hover:border-line-strong hover:bg-hover"
      >
        <span className="font-medium">{title}</span>
        <span className="mt-0.5 block text-sm text-muted">{about}</span>
      </RouterLink>
    </li>
  )
}

function PlainLink({ href, children }: { href: string; children: string }) {
  return (
    <a href={href} className="rounded-sm font-medium text-accent-text underline underline-offset-4">
      {children}
    </a>
  )
}
