/** The retention periods that the operator chooses, in days: see .env.example. */
export interface KeptDays {
  conversations: number
  mails: number
}
