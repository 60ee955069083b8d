import { Button } from '../../components/button.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useChange } from '../../queries.ts'

export function WithdrawButton({
  publisher,
  invitation,
  email,
}: {
  publisher: string
  invitation: string
  email: string
}) {
  const withdraw = useChange('DELETE /api/publishers/:publisher/invitations/:invitation', [
    'GET /api/publishers/:publisher/team',
  ])
  function press(): void {
    const onSuccess = () => toast(`The invitation to ${email} is withdrawn.`)
    withdraw.mutate({ params: { publisher, invitation } }, { onSuccess, onError: toastError })
  }
  return (
    <Button size="sm" isBusy={withdraw.isPending} onClick={press} aria-label={`Withdraw the invitation to ${email}`}>
      Withdraw
    </Button>
  )
}
