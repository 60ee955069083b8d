/**
 * Shows what a model or a caller has said. It may have been written to harm whoever reads it, so this draws Markdown and
 * nothing else: HTML stays text, nothing is loaded from anywhere, and a link says where it goes. The parser is large and
 * comes by itself; until it is there, the text stands as it was written.
 */
import { Component, createElement, memo, useSyncExternalStore, type ComponentType, type ReactNode } from 'react'
import { isDrawable, withVisibleControls } from '../safe-text.ts'
import { PlainText } from './plain-text.tsx'

let view: ComponentType<{ text: string }> | undefined
let hasFailed = false
const loading = load()

/** Without it, everything stays plain text. */
async function load(): Promise<void> {
  try {
    const { MarkdownView } = await import('./markdown-view.tsx')
    view = MarkdownView
  } catch {
    hasFailed = true
  }
}

function subscribe(listener: () => void): () => void {
  let isOn = true
  void loading.then(() => isOn && listener())
  return () => {
    isOn = false
  }
}

/** For pages that would move when plain text becomes Markdown: they wait for this before they draw any. */
export function useIsMarkdownReady(): boolean {
  return useSyncExternalStore(subscribe, () => view !== undefined || hasFailed)
}

export const SafeMarkdown = memo(function SafeMarkdown({ text }: { text: string }) {
  const drawn = useSyncExternalStore(subscribe, () => view)
  const visible = withVisibleControls(text)
  if (drawn === undefined || !isDrawable(visible)) return <PlainText text={visible} />
  return (
    <FallsBack key={visible} fallback={<PlainText text={visible} />}>
      {createElement(drawn, { text: visible })}
    </FallsBack>
  )
})

/** Text that the parser cannot cope with is shown as it was written. */
class FallsBack extends Component<{ fallback: ReactNode; children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override render() {
    return this.state.hasFailed ? this.props.fallback : this.props.children
  }
}
