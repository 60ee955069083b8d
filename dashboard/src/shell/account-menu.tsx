import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { BookOpen, LogOut, Megaphone, Monitor, Moon, Settings, Sun } from 'lucide-react'
import { api } from '../api.ts'
import { Avatar } from '../components/avatar.tsx'
import { Menu, MenuDivider, MenuItem, MenuLabel } from '../components/menu.tsx'
import { toastError } from '../components/toast.tsx'
import { endSession, useMe } from '../session.ts'
import { useTheme, type Theme } from '../theme.ts'

const THEMES: [Theme, string, typeof Sun][] = [
  ['light', 'Light', Sun],
  ['dark', 'Dark', Moon],
  ['system', 'System', Monitor],
]

export function AccountMenu({ isSmall = false }: { isSmall?: boolean }) {
  const { user } = useMe()
  const [theme, chooseTheme] = useTheme()
  const navigate = useNavigate()
  const signOut = useSignOut()
  const trigger = (
    <button
      type="button"
      className="flex w-full min-w-0 items-center gap-2.5 rounded-md p-1.5 text-left transition-colors hover:bg-hover data-popup-open:bg-hover"
    >
      <Avatar name={user.name} />
      <span className="sr-only">{isSmall ? `Account of ${user.name}` : 'Account of '}</span>
      {!isSmall && (
        <span className="min-w-0 leading-tight">
          <span className="block truncate font-medium">{user.name}</span>
          <span className="block truncate text-xs text-muted">{user.email}</span>
        </span>
      )}
    </button>
  )
  return (
    <Menu trigger={trigger} side={isSmall ? 'bottom' : 'top'} align={isSmall ? 'end' : 'start'} className="w-56">
      <MenuLabel>{user.email}</MenuLabel>
      <MenuItem icon={<Settings aria-hidden />} onSelect={() => void navigate({ to: '/account' })}>
        Account settings
      </MenuItem>
      <MenuItem icon={<Megaphone aria-hidden />} onSelect={() => void navigate({ to: '/advertise' })}>
        Advertise
      </MenuItem>
      <MenuItem icon={<BookOpen aria-hidden />} onSelect={() => void navigate({ to: '/docs' })}>
        Documentation
      </MenuItem>
      <MenuDivider />
      <MenuLabel>Theme</MenuLabel>
      {THEMES.map(([value, label, Icon]) => (
        <MenuItem
          key={value}
          icon={<Icon aria-hidden />}
          isChecked={theme === value}
          onSelect={() => chooseTheme(value)}
        >
          {label}
        </MenuItem>
      ))}
      <MenuDivider />
      <MenuItem icon={<LogOut aria-hidden />} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  )
}

export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate()
  const client = useQueryClient()
  return async () => {
    try {
      const end = () => api('POST /api/auth/sign-out', {})
      await endSession(client, end, () => navigate({ to: '/sign-in' }))
    } catch (error) {
      toastError(error)
    }
  }
}
