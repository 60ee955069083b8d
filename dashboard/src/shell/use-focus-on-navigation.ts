import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef, type RefObject } from 'react'

/** A new page begins at its top for the keyboard and the screen reader as well, not at the link that led to it. */
export function useFocusOnNavigation(main: RefObject<HTMLElement | null>): void {
  const { pathname } = useLocation()
  const last = useRef(pathname)
  useEffect(() => {
    if (last.current !== pathname) main.current?.focus({ preventScroll: true })
    last.current = pathname
  }, [pathname, main])
}
