/** Everything that the palette offers to somebody here, and what of it fits what they typed. */
import {
  FolderOpen,
  Keyboard,
  KeyRound,
  LogOut,
  Megaphone,
  Monitor,
  Moon,
  Plus,
  Settings,
  Sun,
  UserPlus,
  Wallet,
  type LucideIcon,
} from 'lucide-react'
import { addressOf, isOffered, mayActAs, type Page, type Role } from '../page.ts'
import type { Me, Place } from '../session.ts'
import { matchOf, wordsOf } from './fuzzy.ts'

export type Group = 'Go to' | 'Actions' | 'Switch project'

/** Either an address, or something that the palette knows how to do. */
export type Deed =
  | { to: string; search?: Record<string, string> }
  | { project: string }
  | { theme: 'light' | 'dark' | 'system' }
  | 'shortcuts'
  | 'sign-out'

export interface Command {
  id: string
  group: Group
  label: string
  /** A note on what it belongs to, such as the project's domain and publisher, where the label alone is not clear. */
  hint?: string
  /** Other words for the same thing. */
  keywords?: string
  icon: LucideIcon
  deed: Deed
}

/** The name of the dialog that a page opens when its address asks for it: `?open=…`. */
const DIALOGS: {
  page: string
  scope: Page['scope']
  open: string
  label: string
  keywords: string
  icon: LucideIcon
  role: Role
}[] = [
  {
    page: 'keys',
    scope: 'project',
    open: 'new-key-pair',
    label: 'New key pair…',
    keywords: 'create api secret token',
    icon: KeyRound,
    role: 'developer',
  },
  {
    page: 'team',
    scope: 'publisher',
    open: 'invite',
    label: 'Invite someone…',
    keywords: 'colleague member add user',
    icon: UserPlus,
    role: 'admin',
  },
  {
    page: 'wallet',
    scope: 'project',
    open: 'top-up',
    label: 'Top up…',
    keywords: 'pay credit money balance buy',
    icon: Wallet,
    role: 'admin',
  },
]

export function commandsFor(me: Me, place: Place, pages: readonly Page[]): Command[] {
  const others = [...projectCommands(me, place), ...advertiserCommands(me, place)]
  return [...pageCommands(place, pages), ...actionCommands(me, place, pages), ...others]
}

function pageCommands(place: Place, pages: readonly Page[]): Command[] {
  // Pages of the navigation are in its order; those that it leaves out follow.
  return pages
    .toSorted((a, b) => Number(b.nav !== undefined) - Number(a.nav !== undefined))
    .filter((page) => !page.path.includes('$') && isOffered(page, place))
    .map((page) => ({
      id: `go ${page.scope} ${page.path}`,
      group: 'Go to',
      label: page.label,
      keywords: page.keywords ?? '',
      icon: page.nav?.icon ?? Settings,
      deed: { to: addressOf(page, idsOf(place)) },
    }))
}

function actionCommands(me: Me, place: Place, pages: readonly Page[]): Command[] {
  const dialogs = DIALOGS.flatMap(({ page: path, scope, open, label, keywords, icon, role }): Command[] => {
    const page = pages.find((each) => each.path === path && each.scope === scope)
    if (!page || !isOffered(page, place) || !place.publisher || !mayActAs(place.publisher.role, role)) return []
    const deed = { to: addressOf(page, idsOf(place)), search: { open } }
    return [{ id: open, group: 'Actions', label, keywords, icon, deed }]
  })
  const mayCreate = me.publishers.some(({ role }) => mayActAs(role, 'admin'))
  return [
    ...dialogs,
    action('advertise', 'Advertise', 'advertiser campaign ads recommend', Megaphone, { to: '/advertise' }),
    ...(mayCreate ? [action('new-project', 'New project', 'create add site', Plus, { to: '/new-project' })] : []),
    action('light', 'Light theme', 'colours appearance bright', Sun, { theme: 'light' }),
    action('dark', 'Dark theme', 'colours appearance night', Moon, { theme: 'dark' }),
    action('system', 'System theme', 'colours appearance automatic', Monitor, { theme: 'system' }),
    action('shortcuts', 'Keyboard shortcuts', 'help keys', Keyboard, 'shortcuts'),
    action('sign-out', 'Sign out', 'log out leave', LogOut, 'sign-out'),
  ]
}

function action(id: string, label: string, keywords: string, icon: LucideIcon, deed: Deed): Command {
  return { id, group: 'Actions', label, keywords, icon, deed }
}

function projectCommands(me: Me, place: Place): Command[] {
  return me.publishers.flatMap(({ name, projects }) =>
    projects
      .filter(({ id }) => id !== place.project?.id || place.advertiser !== undefined)
      .map((project) => ({
        id: `project ${project.id}`,
        group: 'Switch project' as const,
        label: project.name,
        hint: me.publishers.length > 1 ? `${project.domain} · ${name}` : project.domain,
        icon: FolderOpen,
        deed: { project: project.id },
      })),
  )
}

function advertiserCommands(me: Me, place: Place): Command[] {
  return me.advertisers
    .filter(({ id }) => id !== place.advertiser?.id)
    .map(({ id, name, domain }) => ({
      id: `advertiser ${id}`,
      group: 'Switch project' as const,
      label: name,
      hint: `Advertiser · ${domain}`,
      icon: Megaphone,
      deed: { to: `/advertisers/${id}` },
    }))
}

function idsOf({ project, publisher, advertiser }: Place) {
  return { project: project?.id, publisher: publisher?.id, advertiser: advertiser?.id }
}

export interface Found {
  group: Group
  commands: { command: Command; at: number[] }[]
}

/** A synonym is worth less than the name itself, and counts only from its beginning. */
const KEYWORD_SCORE = 2
const SHOWN_MAX = 50

/** In groups, the one with the best of all first. Of many projects, the best are shown: nobody scrolls through hundreds. */
export function found(commands: readonly Command[], typed: string): Found[] {
  const words = wordsOf(typed)
  const ranked = commands
    .flatMap((command) => {
      const rank = words.length === 0 ? { score: 0, at: [] } : rankOf(command, words)
      return rank === undefined ? [] : [{ command, ...rank }]
    })
    .toSorted((a, b) => b.score - a.score)
    .slice(0, SHOWN_MAX)
  const groups = Map.groupBy(ranked, ({ command }) => command.group)
  return Array.from(groups, ([group, of]) => ({ group, commands: of.map(({ command, at }) => ({ command, at })) }))
}

function rankOf(command: Command, words: readonly string[]): { score: number; at: number[] } | undefined {
  const others = wordsOf([command.keywords, command.hint].join(' '))
  let score = 0
  const at = new Set<number>()
  for (const word of words) {
    const match = matchOf(word, command.label)
    if (match === undefined && !others.some((other) => other.startsWith(word))) return undefined
    score += match?.score ?? KEYWORD_SCORE
    for (const place of match?.at ?? []) at.add(place)
  }
  return { score, at: [...at] }
}
