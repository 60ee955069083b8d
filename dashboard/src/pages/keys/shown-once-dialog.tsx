import { useNavigate } from '@tanstack/react-router'
import { Download, Eye, EyeOff } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyField } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Time } from '../../components/figures.tsx'
import { Checkbox } from '../../components/toggles.tsx'
import { saveText } from '../../save-text.ts'
import { useProject } from '../../session.ts'
import { handKeys } from '../quick-start/handed-keys.ts'
import type { NewKeyPair } from './key-pair.ts'
import { curlOf, envOf, masked } from './snippets.ts'

/** The only place where a secret key is ever seen. It is left through the tick alone: a stray Escape must not lose it. */
export function ShownOnceDialog({ pair, onClose }: { pair: NewKeyPair; onClose(): void }) {
  const [isRevealed, setRevealed] = useState(false)
  const [isStored, setStored] = useState(false)
  const [isReminded, setReminded] = useState(false)
  const hidden = { ...pair, secretKey: masked(pair.secretKey) }
  const shown = isRevealed ? pair : hidden
  const actions = (
    <>
      <div className="mr-auto flex min-h-8 items-center">
        <Checkbox checked={isStored} onChange={setStored} label="I stored it" />
      </div>
      <QuickStartButton pair={pair} isDisabled={!isStored} onClose={onClose} />
      <Button look="primary" disabled={!isStored} onClick={onClose}>
        Done
      </Button>
      <p role="alert" className="w-full text-sm text-bad empty:hidden">
        {isReminded && !isStored && 'Closing is final: store the secret key and tick “I stored it” first.'}
      </p>
    </>
  )
  return (
    <Dialog
      isOpen
      isSticky
      size="lg"
      onClose={() => (isStored ? onClose() : setReminded(true))}
      title={`Your new key pair: ${pair.name}`}
      description={
        <>
          Copy the secret key now. Parley keeps no copy of it, so it can never be shown again.
          {pair.oldEndsAt !== null && (
            <>
              {' '}
              The old pair ends <Time iso={pair.oldEndsAt} />.
            </>
          )}
        </>
      }
      actions={actions}
    >
      <div className="flex flex-col gap-4">
        <Labelled label="Publishable key">
          <CopyField text={pair.publishableKey} label="publishable key" />
        </Labelled>
        <SecretField
          secretKey={pair.secretKey}
          shown={shown.secretKey}
          isRevealed={isRevealed}
          onReveal={setRevealed}
        />
        <CodeBlock
          title="Try it: copies with your keys, and streams an answer"
          language="sh"
          code={curlOf(pair)}
          shown={curlOf(shown)}
        />
        <Button
          className="self-start"
          icon={<Download aria-hidden />}
          onClick={() => saveText('parley.env', envOf(pair))}
        >
          Download .env
        </Button>
      </div>
    </Dialog>
  )
}

interface SecretFieldProps {
  secretKey: string
  shown: string
  isRevealed: boolean
  onReveal(isRevealed: boolean): void
}

function SecretField({ secretKey, shown, isRevealed, onReveal }: SecretFieldProps) {
  const toggle = (
    <Button
      look="ghost"
      size="sm"
      icon={isRevealed ? <EyeOff aria-hidden /> : <Eye aria-hidden />}
      onClick={() => onReveal(!isRevealed)}
    >
      {isRevealed ? 'Hide' : 'Reveal'}
    </Button>
  )
  return (
    <Labelled label="Secret key" aside={toggle}>
      <CopyField text={secretKey} shown={shown} label="secret key" />
    </Labelled>
  )
}

/** Takes the keys along to the examples, in memory alone. */
function QuickStartButton({ pair, isDisabled, onClose }: { pair: NewKeyPair; isDisabled: boolean; onClose(): void }) {
  const project = useProject()
  const navigate = useNavigate()
  function showExamples(): void {
    handKeys({ projectId: project.id, publishableKey: pair.publishableKey, secretKey: pair.secretKey })
    onClose()
    void navigate({ to: `/projects/${project.id}/quick-start` })
  }
  return (
    <Button disabled={isDisabled} onClick={showExamples}>
      Quick start with these keys
    </Button>
  )
}

function Labelled({ label, aside, children }: { label: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <div>
      <div className="mb-1 flex min-h-7 items-center justify-between">
        <span className="font-medium">{label}</span>
        {aside}
      </div>
      {children}
    </div>
  )
}
