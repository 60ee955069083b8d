/** What the operator chooses to keep, in days: see .env.example. */
export interface KeptDays {
  conversations: number
  mails: number
}
