import { RotateCw, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Notice } from '../../components/notice.tsx'
import { ErrorState } from '../../components/states.tsx'
import { formatCount, formatMoney } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { isRunning, problemIn, type Settings, type Turn } from './chat.ts'
import { Composer } from './composer.tsx'
import { Invitation } from './invitation.tsx'
import { SettingsPanel } from './settings-panel.tsx'
import { TurnView } from './turn-view.tsx'
import { useChat } from './use-chat.ts'

const FIRST_SETTINGS: Settings = { model: '', system: '', temperature: '', maxTokens: '', isStreamed: true }

export function PlaygroundPage() {
  const project = useProject()
  const models = useApi('GET /api/projects/:project/models', { params: { project: project.id } })
  const [chosen, setChosen] = useState(FIRST_SETTINGS)
  const [draft, setDraft] = useState('')
  const first = models.data?.items[0]?.id ?? ''
  const settings = { ...chosen, model: chosen.model || first }
  const chat = useChat(project.id, settings)
  const last = chat.turns.at(-1)
  const isBusy = isRunning(last)
  const maySend = project.may('developer') && settings.model !== '' && problemIn(settings) === undefined
  useEscape(isBusy, chat.stop)

  function send(): void {
    if (!maySend || isBusy || draft.trim() === '') return
    chat.send(draft.trim())
    setDraft('')
  }
  return (
    <>
      <PageHeader
        title="Playground"
        context={project.name}
        description="Talk to the models as your own servers would: the same gateway, the same checks, the same prices."
      />
      {models.error && !models.data ? (
        <ErrorState error={models.error} onRetry={() => void models.refetch()} />
      ) : (
        <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_17rem] lg:gap-6">
          <SettingsPanel settings={settings} models={models.data?.items} onChange={setChosen} />
          <section
            aria-label="Chat"
            className="flex h-[calc(100dvh-11rem)] min-h-112 flex-col overflow-hidden rounded-lg border border-line bg-surface shadow-card lg:order-first"
          >
            <Toolbar chat={chat} isBusy={isBusy} />
            <Conversation turns={chat.turns} onSuggest={setDraft} />
            {project.may('developer') ? (
              <Composer
                draft={draft}
                onChange={setDraft}
                onSend={send}
                onStop={chat.stop}
                isBusy={isBusy}
                maySend={maySend}
              />
            ) : (
              <div className="p-3">
                <Notice>
                  Calls need the role developer, because they use the balance. Ask an admin of the account.
                </Notice>
              </div>
            )}
          </section>
          <p role="status" className="sr-only">
            {announcementOf(last)}
          </p>
        </div>
      )}
    </>
  )
}

function Toolbar({ chat, isBusy }: { chat: ReturnType<typeof useChat>; isBusy: boolean }) {
  const isEmpty = chat.turns.length === 0
  return (
    <div className="flex items-center gap-1 border-b border-line py-1.5 pr-2 pl-4">
      <h2 className="text-sm font-medium text-muted">Chat</h2>
      <span className="flex-1 pl-3 text-sm text-accent-text">{isBusy && <Working />}</span>
      <Button
        look="ghost"
        size="sm"
        icon={<RotateCw aria-hidden />}
        disabled={isEmpty || isBusy}
        onClick={chat.regenerate}
      >
        Regenerate
      </Button>
      <Button look="ghost" size="sm" icon={<Trash2 aria-hidden />} disabled={isEmpty} onClick={chat.clear}>
        Clear
      </Button>
    </div>
  )
}

/** At a place that does not move, unlike the end of a text that grows. */
function Working() {
  return (
    <span className="inline-flex items-center gap-2">
      <span aria-hidden className="size-2 animate-pulse rounded-full bg-accent-text" />
      Answering…
    </span>
  )
}

/** Scrolls along while the reader is at its end, and leaves alone who has scrolled up to read. */
function Conversation({ turns, onSuggest }: { turns: Turn[]; onSuggest(text: string): void }) {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    if (turns.length > 0 && isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [turns])
  function see(): void {
    const { current } = box
    if (current) isAtEnd.current = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_PX
  }
  return (
    <div
      ref={box}
      onScroll={see}
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label="Messages"
      className="min-h-0 flex-1 overflow-y-auto px-4 focus-visible:-outline-offset-2"
    >
      {turns.length === 0 ? (
        <Invitation onSuggest={onSuggest} />
      ) : (
        <ol className="mx-auto flex max-w-3xl flex-col gap-6 py-5">
          {turns.map((turn, n) => (
            <TurnView key={turn.id} turn={turn} number={n + 1} />
          ))}
        </ol>
      )}
    </div>
  )
}

const NEAR_PX = 48

function useEscape(isBusy: boolean, stop: () => void): void {
  useEffect(() => {
    if (!isBusy) return undefined
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && stop()
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [isBusy, stop])
}

/** For who cannot see it: once, when it is over, and not word by word. */
function announcementOf(turn: Turn | undefined): string {
  if (turn === undefined || isRunning(turn)) return ''
  if (turn.state === 'failed') return ''
  const { receipt } = turn
  const figures = receipt
    ? ` ${formatCount(receipt.tokens.output + receipt.tokens.reasoning)} tokens, ${formatMoney(receipt.chargedNanos)}.`
    : ''
  return `${turn.state === 'stopped' ? 'The answer was stopped.' : 'The answer is complete.'}${figures} ${turn.text}`
}
