import { isRunning, type Settings, type Turn } from './chat.ts'
import { useChat, type Chat } from './use-chat.ts'

export interface Comparison extends Omit<Chat, 'turns'> {
  /** Question by question, with the answer of each model. */
  rows: Row[]
  isBusy: boolean
  /** From here on, the second model is asked as well. It knows what was said so far. */
  begin(): void
}

export interface Row {
  /** The turn of the first model and, in a comparison, that of the other one. A turn that both share is shown once. */
  turns: [Turn] | [Turn, Turn]
}

/** One chat, or two that are asked the same: each call is one of its own, with its own charge. */
export function useComparison(project: string, settings: Settings, otherModel: string | undefined): Comparison {
  const first = useChat(project, settings)
  const other = useChat(project, { ...settings, model: otherModel ?? settings.model })
  const chats = otherModel === undefined ? [first] : [first, other]
  return {
    rows: rowsOf(first.turns, otherModel === undefined ? [] : other.turns),
    isBusy: chats.some(({ turns }) => isRunning(turns.at(-1))),
    begin: () => other.restore(first.turns.map((turn) => ({ ...turn, isShared: true }))),
    send: (question) => chats.forEach((chat) => chat.send(question)),
    stop: () => chats.forEach((chat) => chat.stop()),
    regenerate: () => chats.forEach((chat) => chat.regenerate()),
    clear: () => [first, other].forEach((chat) => chat.clear()),
    restore: (turns) => [first, other].forEach((chat) => chat.restore(turns)),
  }
}

export function rowsOf(first: readonly Turn[], other: readonly Turn[]): Row[] {
  return first.map((turn, n) => {
    const beside = other[n]
    return { turns: beside && !beside.isShared ? [turn, beside] : [turn] }
  })
}
