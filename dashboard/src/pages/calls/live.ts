/** The state of the list of calls. */
export interface ListState {
  wantsLive: boolean
  isAtTop: boolean
  pages: number
  isLoadingMore: boolean
}

/** Only the first page is read again, so a list is live while it has no other: what was loaded is not taken away. */
export function isListLive({ wantsLive, isAtTop, pages, isLoadingMore }: ListState): boolean {
  return wantsLive && isAtTop && pages === 1 && !isLoadingMore
}
