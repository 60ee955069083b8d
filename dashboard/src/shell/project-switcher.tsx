import { useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { ChevronsUpDown, Plus } from 'lucide-react'
import { Fragment } from 'react'
import { Avatar } from '../components/avatar.tsx'
import { SandboxBadge } from '../components/badge.tsx'
import { Menu, MenuDivider, MenuItem, MenuLabel } from '../components/menu.tsx'
import { mayActAs } from '../page.ts'
import { useMe, usePlace } from '../session.ts'

export function ProjectSwitcher({ onChoose }: { onChoose?: () => void }) {
  const me = useMe()
  const { project, publisher, advertiser } = usePlace()
  const openProject = useOpenProject()
  const navigate = useNavigate()
  const mayCreate = me.publishers.some(({ role }) => mayActAs(role, 'admin'))
  const trigger = (
    <button
      type="button"
      className="flex w-full min-w-0 items-center gap-2.5 rounded-md border border-transparent p-1.5 text-left transition-colors hover:bg-hover data-popup-open:bg-hover"
    >
      <Avatar name={advertiser?.name ?? project?.name ?? publisher?.name ?? 'Parley'} shape="square" />
      <span className="sr-only">Switch project: </span>
      <span className="min-w-0 flex-1 leading-tight">
        <span className="flex items-center gap-1.5">
          <span className="truncate font-semibold">{advertiser?.name ?? project?.name ?? 'No project yet'}</span>
          {!advertiser && project?.isSandbox && <SandboxBadge />}
        </span>
        <span className="block truncate text-xs text-muted">
          {advertiser ? 'Advertiser' : (project?.domain ?? publisher?.name)}
        </span>
      </span>
      <ChevronsUpDown className="size-4 shrink-0 text-faint" aria-hidden />
    </button>
  )
  function choose(id: string): void {
    openProject(id)
    onChoose?.()
  }
  function go(to: string): void {
    void navigate({ to })
    onChoose?.()
  }
  return (
    <Menu trigger={trigger} align="start" className="w-[min(17rem,calc(100vw-2rem))]">
      {me.publishers.map(({ id, name, projects }) => (
        <Fragment key={id}>
          <MenuLabel>{name}</MenuLabel>
          {projects.map((each) => (
            <MenuItem key={each.id} isChecked={!advertiser && each.id === project?.id} onSelect={() => choose(each.id)}>
              {each.name} {each.isSandbox && <SandboxBadge />}
            </MenuItem>
          ))}
        </Fragment>
      ))}
      {me.advertisers.length > 0 && <MenuLabel>Advertisers</MenuLabel>}
      {me.advertisers.map(({ id, name }) => (
        <MenuItem key={id} isChecked={id === advertiser?.id} onSelect={() => go(`/advertisers/${id}`)}>
          {name}
        </MenuItem>
      ))}
      {mayCreate && (
        <>
          <MenuDivider />
          <MenuItem icon={<Plus aria-hidden />} onSelect={() => void navigate({ to: '/new-project' })}>
            New project
          </MenuItem>
        </>
      )}
    </Menu>
  )
}

/** Stays on the same kind of page: who compares the calls of two projects wants to see calls. */
export function useOpenProject(): (id: string) => void {
  const navigate = useNavigate()
  const { pathname } = useLocation()
  const { project } = useParams({ strict: false }) as { project?: string }
  return (id) => {
    const [, , , section = ''] = project === undefined ? [] : pathname.split('/')
    void navigate({ to: section === '' ? `/projects/${id}` : `/projects/${id}/${section}` })
  }
}
