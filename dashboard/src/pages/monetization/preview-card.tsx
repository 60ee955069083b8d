import { useState } from 'react'
import type { Reply } from '../../api.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Field } from '../../components/field.tsx'
import { Time } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { PlainText } from '../../components/plain-text.tsx'
import { SafeMarkdown, useIsMarkdownReady } from '../../components/safe-markdown.tsx'
import { Select } from '../../components/select.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useApi, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CHANGED, type Monetization } from './monetization.ts'

type Preview = Reply<'GET /api/projects/:project/monetization/preview'>
type Format = Monetization['format']

const FORMATS: { value: Format; label: string }[] = [
  { value: 'markdown', label: 'Markdown' },
  { value: 'plain', label: 'Plain text' },
]

export function PreviewCard({ settings }: { settings: Monetization }) {
  const project = useProject()
  const mayChange = project.may('admin')
  const [label, setLabel] = useState(settings.label)
  const [format, setFormat] = useState(settings.format)
  const change = useChange('PATCH /api/projects/:project/monetization', [...CHANGED])
  const isChanged = label !== settings.label || format !== settings.format
  function save(): void {
    const saved = { onSuccess: () => toast('Label saved.'), onError: toastError }
    change.mutate({ params: { project: project.id }, body: { label, format } }, saved)
  }
  return (
    <Card title="How it looks" description="What readers see, rendered by the same code as the real thing.">
      <div className="grid gap-6 lg:grid-cols-[15rem_minmax(0,1fr)]">
        <div className="grid content-start gap-5 sm:grid-cols-2 lg:grid-cols-1">
          <Field label="Label" hint="Comes first, before everything else.">
            {(control) => (
              <Select
                {...control}
                value={label}
                disabled={!mayChange}
                onChange={(event) => setLabel(event.target.value)}
                options={settings.labels.map((each) => ({ value: each.label, label: nameOf(each) }))}
              />
            )}
          </Field>
          <Field label="Format" hint="Plain text is for sites that show replies without formatting.">
            {(control) => (
              <Select
                {...control}
                value={format}
                disabled={!mayChange}
                onChange={(event) => setFormat(event.target.value as Format)}
                options={FORMATS}
              />
            )}
          </Field>
          <div className="sm:col-span-2 lg:col-span-1">
            <Button look="primary" disabled={!mayChange || !isChanged} isBusy={change.isPending} onClick={save}>
              Save
            </Button>
            <p className="mt-2 text-sm text-muted">
              {mayChange ? 'Without a label, nothing can be recommended.' : 'Only owners and admins can change this.'}
            </p>
          </div>
        </div>
        <PreviewOf label={label} format={format} />
      </div>
    </Card>
  )
}

const LANGUAGES = new Intl.DisplayNames('en', { type: 'language' })

function nameOf({ language, label }: { language: string; label: string }): string {
  return `${label} (${LANGUAGES.of(language) ?? language})`
}

function PreviewOf({ label, format }: { label: string; format: Format }) {
  const project = useProject()
  const call = { params: { project: project.id }, query: { label, format } }
  const { data, error, refetch } = useApi('GET /api/projects/:project/monetization/preview', call)
  const isMarkdownReady = useIsMarkdownReady()
  // The last one stays until the next is there: nothing jumps while somebody tries labels.
  const [shown, setShown] = useState<Preview>()
  if (data && data !== shown) setShown(data)
  if (error && !shown) return <ErrorState error={error} onRetry={() => void refetch()} />
  if (!shown || !isMarkdownReady) return <SkeletonLines count={9} className="min-h-80" />
  return (
    // In another format everything has another height: drawn anew, nothing of it moves.
    <figure key={shown.format} aria-busy={data === undefined} className="min-w-0">
      <div className="overflow-hidden rounded-lg border border-line bg-canvas">
        {/* Reversed, so that the end of a long reply is in sight: the recommendation follows it. */}
        <div
          role="region"
          aria-label="The reply"
          tabIndex={0}
          className="flex max-h-72 flex-col-reverse overflow-y-auto px-5 pt-4 pb-3 -outline-offset-2"
        >
          <Text text={shown.reply} format={shown.format} />
        </div>
        <div
          role="region"
          aria-label="The recommendation"
          aria-live="polite"
          // The links of a preview lead nowhere.
          onClickCapture={(event) => event.preventDefault()}
          className="mx-5 mb-5 border-l-2 border-earn pl-3"
        >
          <Text text={shown.block} format={shown.format} />
        </div>
      </div>
      <Origin preview={shown} projectId={project.id} />
    </figure>
  )
}

function Text({ text, format }: { text: string; format: Format }) {
  return format === 'markdown' ? <SafeMarkdown text={text} /> : <PlainText text={text} />
}

const BECAUSE: Record<NonNullable<Preview['sampleBecause']>, string> = {
  no_reply: 'No reply of this project is kept that could carry a recommendation.',
  no_match: 'No offer that you allow fits the latest replies of this project.',
  no_matcher: 'No matcher answered, so nothing could be looked for.',
}

/** Says which parts of the preview are real. */
function Origin({ preview: { match, sampleBecause }, projectId }: { preview: Preview; projectId: string }) {
  return (
    <figcaption className="mt-3 text-sm text-muted">
      {match ? (
        <>
          The reply is from{' '}
          <Link to={`/projects/${projectId}/conversations/${encodeURIComponent(match.conversation.id)}`}>
            one of your conversations
          </Link>
          , <Time iso={match.conversation.at} as="age" />. The offer of {match.advertiser} is the one that fits it best
          now, with a relevance of <span className="tabular">{match.relevance.toFixed(2)}</span>.
        </>
      ) : (
        <>
          <Badge>Sample</Badge> A made-up reply and an offer that fits it. {sampleBecause && BECAUSE[sampleBecause]}
        </>
      )}
    </figcaption>
  )
}
