import { ProofOutlet } from '../proof/proof-outlet.tsx'
import { DialogFrame, type DialogFrameProps } from './dialog-frame.tsx'

export function Dialog({ children, ...rest }: DialogFrameProps) {
  return (
    <DialogFrame {...rest}>
      {children}
      <ProofOutlet />
    </DialogFrame>
  )
}
