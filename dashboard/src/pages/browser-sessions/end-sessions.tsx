import { CircleStop } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { toast } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { nameOf, type BrowserSession } from './browser-session.ts'

const LIST = 'GET /api/projects/:project/browser-sessions'

export function EndButton({ session }: { session: BrowserSession }) {
  const project = useProject()
  const [isAsked, setAsked] = useState(false)
  const end = useChange('DELETE /api/projects/:project/browser-sessions/:session', [LIST])
  const name = nameOf(session)
  async function confirm(): Promise<void> {
    await end.mutateAsync({ params: { project: project.id, session: session.id } })
    toast(`The session of ${name} has ended.`)
  }
  return (
    <>
      <Button size="sm" aria-label={`End the session of ${name}`} onClick={() => setAsked(true)}>
        End
      </Button>
      <ConfirmDialog
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={`End the session of ${name}?`}
        verb="End session"
        onConfirm={confirm}
      >
        Its next call is refused with 401. Answers in progress finish. Your server can create another session at any
        time.
      </ConfirmDialog>
    </>
  )
}

export function EndAllButton({ pair }: { pair: { id: string; name: string } }) {
  const project = useProject()
  const [isAsked, setAsked] = useState(false)
  const end = useChange('DELETE /api/projects/:project/keys/:key/browser-sessions', [LIST])
  async function confirm(): Promise<void> {
    const { ended } = await end.mutateAsync({ params: { project: project.id, key: pair.id } })
    toast(ended === 1 ? `One session of ${pair.name} has ended.` : `${ended} sessions of ${pair.name} have ended.`)
  }
  return (
    <>
      <Button size="sm" icon={<CircleStop aria-hidden />} onClick={() => setAsked(true)}>
        End all of {pair.name}
      </Button>
      <ConfirmDialog
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={`End all sessions of ${pair.name}?`}
        verb="End all sessions"
        onConfirm={confirm}
      >
        The next call of each is refused with 401, including sessions not listed here. The key pair keeps working and
        can create new ones. To stop that too, deactivate or roll it under API keys.
      </ConfirmDialog>
    </>
  )
}
