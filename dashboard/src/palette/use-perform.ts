import { useNavigate } from '@tanstack/react-router'
import { useSignOut } from '../shell/account-menu.tsx'
import { useOpenProject } from '../shell/project-switcher.tsx'
import { useTheme } from '../theme.ts'
import type { Deed } from './commands.ts'

export function usePerform(onShortcuts: () => void): (deed: Deed) => void {
  const navigate = useNavigate()
  const openProject = useOpenProject()
  const signOut = useSignOut()
  const [, chooseTheme] = useTheme()
  return (deed) => {
    if (deed === 'shortcuts') onShortcuts()
    else if (deed === 'sign-out') void signOut()
    else if ('theme' in deed) chooseTheme(deed.theme)
    else if ('project' in deed) openProject(deed.project)
    else void navigate({ to: deed.to, search: deed.search ?? {} } as never)
  }
}
