import { Ellipsis, KeyRound, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { Item } from '../../api.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Time } from '../../components/figures.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/toast.tsx'
import { canUsePasskeys } from '../../passkeys.ts'
import { useApi, useChange } from '../../queries.ts'
import { useMe } from '../../session.ts'
import { AddPasskeyDialog, RenamePasskeyDialog } from './passkey-dialogs.tsx'

type Passkey = Item<'GET /api/me/passkeys'>

export function PasskeysCard() {
  const { user } = useMe()
  const [isAdding, setAdding] = useState(false)
  const passkeys = useApi('GET /api/me/passkeys', {})
  const isPossible = canUsePasskeys()
  const add = (
    <Button size="sm" disabled={!isPossible || !user.emailVerified} onClick={() => setAdding(true)}>
      Add passkey
    </Button>
  )
  return (
    <Card
      title="Passkeys"
      description="Sign in with your fingerprint, face or PIN instead of a password and a code."
      action={add}
      isFlush
    >
      <div className="border-t border-line">
        {passkeys.error && !passkeys.data && (
          <ErrorState error={passkeys.error} onRetry={() => void passkeys.refetch()} />
        )}
        {/* As high as what comes, because nothing below may move. */}
        {!passkeys.data && !passkeys.error && user.passkeys > 0 && (
          <ul className="divide-y divide-line">
            {Array.from({ length: user.passkeys }, (_, n) => (
              <li key={n} className="h-16 px-5 py-3">
                <SkeletonLines count={2} />
              </li>
            ))}
          </ul>
        )}
        {(passkeys.data?.items.length ?? user.passkeys) === 0 && <NoPasskeys isPossible={isPossible} />}
        <ul className="divide-y divide-line">
          {passkeys.data?.items.map((passkey) => (
            <PasskeyRow key={passkey.id} passkey={passkey} />
          ))}
        </ul>
      </div>
      {isAdding && <AddPasskeyDialog onClose={() => setAdding(false)} />}
    </Card>
  )
}

function NoPasskeys({ isPossible }: { isPossible: boolean }) {
  const { user } = useMe()
  return (
    <p className="flex min-h-16 items-center px-5 py-3 text-sm text-muted">
      {!isPossible && 'Passkeys need a current browser, and a console served over HTTPS from a host name.'}
      {isPossible && !user.emailVerified && 'Confirm your email address first.'}
      {isPossible && user.emailVerified && 'None yet.'}
    </p>
  )
}

function PasskeyRow({ passkey }: { passkey: Passkey }) {
  const [open, setOpen] = useState<'rename' | 'remove'>()
  const remove = useChange('DELETE /api/me/passkeys/:passkey', ['GET /api/me/passkeys', 'GET /api/me'])
  const close = () => setOpen(undefined)
  async function confirmRemoval(): Promise<void> {
    await remove.mutateAsync({ params: { passkey: passkey.id } })
    toast(`${passkey.name} is removed.`)
  }
  return (
    <li className="flex h-16 items-center gap-3 px-5">
      <KeyRound className="size-5 shrink-0 text-faint" aria-hidden />
      <div className="min-w-0 flex-1 leading-tight">
        <p className="truncate font-medium">{passkey.name}</p>
        <p className="mt-0.5 truncate text-sm text-muted">
          {passkey.lastUsedAt === null ? (
            <>
              Added <Time iso={passkey.createdAt} as="age" />, never used
            </>
          ) : (
            <>
              Last used <Time iso={passkey.lastUsedAt} as="age" />
            </>
          )}
        </p>
      </div>
      <Menu trigger={<IconButton label={`Actions for ${passkey.name}`} icon={<Ellipsis aria-hidden />} />}>
        <MenuItem icon={<Pencil aria-hidden />} onSelect={() => setOpen('rename')}>
          Rename…
        </MenuItem>
        <MenuItem tone="bad" icon={<Trash2 aria-hidden />} onSelect={() => setOpen('remove')}>
          Remove…
        </MenuItem>
      </Menu>
      {open === 'rename' && <RenamePasskeyDialog passkey={passkey} onClose={close} />}
      <ConfirmDialog
        isOpen={open === 'remove'}
        title={`Remove ${passkey.name}?`}
        verb="Remove passkey"
        onClose={close}
        onConfirm={confirmRemoval}
      >
        It will no longer sign you in. Your device may still offer it; delete it there too.
      </ConfirmDialog>
    </li>
  )
}
