/** Whether any click on its recommendations was paid for, and not taken back. */
export function hasEarned({ paidClicks }: { paidClicks: number }): boolean {
  return paidClicks > 0
}
