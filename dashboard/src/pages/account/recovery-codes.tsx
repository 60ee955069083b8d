import { Download } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Checkbox } from '../../components/toggles.tsx'
import { saveText } from '../../save-text.ts'

export function RecoveryCodesDialog({ codes, onClose }: { codes: string[]; onClose(): void }) {
  const [isStored, setStored] = useState(false)
  const text = codes.join('\n')
  const actions = (
    <Button look="primary" disabled={!isStored} onClick={onClose}>
      Done
    </Button>
  )
  return (
    <Dialog
      isOpen
      isSticky
      onClose={() => isStored && onClose()}
      title="Your recovery codes"
      description="Each one signs you in once if you lose your phone. They are shown only now."
      actions={actions}
    >
      <div className="flex flex-col gap-4">
        <ul className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md border border-line bg-sunken p-4 font-mono text-sm">
          {codes.map((code) => (
            <li key={code}>{code}</li>
          ))}
        </ul>
        <div className="flex flex-wrap gap-2">
          <CopyButton text={text} label="Copy all codes">
            Copy
          </CopyButton>
          <Button icon={<Download aria-hidden />} onClick={() => saveText('parley-recovery-codes.txt', `${text}\n`)}>
            Download
          </Button>
        </div>
        <Checkbox
          checked={isStored}
          onChange={setStored}
          label="I stored them where I can find them without my phone."
        />
      </div>
    </Dialog>
  )
}
