import { useEffect, useState } from 'react'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { ErrorState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { formatCounted, formatMoney } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import type { Model } from '../models/found-models.ts'
import { isRunning, openedFrom, type SavedPrompt, type Settings, type Turn } from './chat.ts'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { SavedPrompts } from './saved-prompts.tsx'
import { SettingsPanel } from './settings-panel.tsx'
import { Toolbar } from './toolbar.tsx'
import { useComparison } from './use-comparison.ts'

const FIRST_SETTINGS: Settings = { model: '', system: '', temperature: '', maxTokens: '', isStreamed: true }

export function PlaygroundPage() {
  const project = useProject()
  const { models, error, retry, first } = useModels(project.id)
  return (
    <div data-fills className="flex min-h-0 flex-1 flex-col">
      <PageHeader
        title="Playground"
        context={project.name}
        description="Talk to the models as your own servers would: the same gateway, the same checks, the same prices."
      />
      {error ? <ErrorState error={error} onRetry={retry} /> : <Playground models={models} first={first} />}
    </div>
  )
}

/** `first`: the model that is asked unless somebody chooses another. */
function Playground({ models, first }: { models: Model[] | undefined; first: string }) {
  const project = useProject()
  const [chosen, setChosen] = useState(FIRST_SETTINGS)
  const [otherModel, setOtherModel] = useState<string>()
  const [draft, setDraft] = useState('')
  const settings = { ...chosen, model: chosen.model || first }
  const chat = useComparison(project.id, settings, otherModel)
  const isComparing = otherModel !== undefined
  useEscape(chat.isBusy, chat.stop)

  function compare(isWanted: boolean): void {
    if (isWanted) chat.begin()
    setOtherModel(isWanted ? models?.find(({ id }) => id !== settings.model)?.id : undefined)
  }
  function open(saved: SavedPrompt): void {
    const opened = openedFrom(saved)
    const isOffered = models?.some(({ id }) => id === saved.model)
    setChosen({ ...opened.settings, model: isOffered ? saved.model : settings.model })
    setDraft(opened.draft)
    chat.restore(opened.turns)
  }
  return (
    <div className="grid min-h-0 flex-1 gap-4 max-lg:grid-rows-[auto_minmax(18rem,1fr)] lg:grid-cols-[minmax(0,1fr)_17rem] lg:grid-rows-[minmax(28rem,1fr)] lg:gap-6">
      <SettingsPanel
        settings={settings}
        models={models}
        onChange={setChosen}
        otherModel={otherModel}
        onOtherModel={setOtherModel}
      />
      <section
        aria-label="Chat"
        className="flex min-h-0 flex-col overflow-hidden rounded-lg border border-line bg-surface shadow-card lg:order-first"
      >
        <Toolbar
          chat={chat}
          isComparing={isComparing}
          isAlone={(models?.length ?? 0) < 2}
          onCompare={compare}
          prompts={<SavedPrompts {...{ settings, chat, draft }} onOpen={open} />}
        />
        <Conversation rows={chat.rows} isComparing={isComparing} onSuggest={setDraft} />
        {project.may('developer') ? (
          <Composer {...{ settings, chat, draft }} onChange={setDraft} calls={isComparing ? 2 : 1} />
        ) : (
          <NeedsRole />
        )}
      </section>
      <p role="status" className="sr-only">
        {chat.isBusy ? '' : (chat.rows.at(-1)?.turns ?? []).map((turn) => announcementOf(turn)).join(' ')}
      </p>
    </div>
  )
}

/** Models to choose from, and the one to ask until one is chosen: the one that the address names, if it is offered. */
function useModels(project: string) {
  const params = { project }
  const catalogue = useApi('GET /api/projects/:project/catalogue', { params })
  const usable = useApi('GET /api/projects/:project/models', { params })
  const [{ model: asked }] = useFilters(['model'] as const)
  const models = usable.data && catalogue.data?.items.filter(({ kind }) => kind === 'chat')
  const isOffered = models?.some(({ id }) => id === asked)
  const failed = [catalogue, usable].find(({ error, data }) => error && !data)
  return {
    models,
    error: failed?.error,
    retry: () => void failed?.refetch(),
    first: (models && (isOffered ? asked : usable.data?.default)) ?? '',
  }
}

function NeedsRole() {
  return (
    <div className="p-3">
      <Notice>Making calls needs the developer role, because they use the balance. Ask an admin of the account.</Notice>
    </div>
  )
}

function useEscape(isBusy: boolean, stop: () => void): void {
  useEffect(() => {
    if (!isBusy) return undefined
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && stop()
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [isBusy, stop])
}

/** For who cannot see it: once, when it is over, and not word by word. */
function announcementOf(turn: Turn): string {
  if (isRunning(turn) || turn.state === 'failed' || turn.isShared) return ''
  const { receipt } = turn
  const figures = receipt
    ? ` ${formatCounted(receipt.tokens.output + receipt.tokens.reasoning, 'token')}, ${formatMoney(receipt.chargedNanos)}.`
    : ''
  return `${turn.state === 'stopped' ? 'The answer was stopped.' : 'The answer is complete.'}${figures} ${turn.text}`
}
