/** The server's own rules, said before anything is sent. */
export const PASSWORD_RULES = {
  required: 'Choose a password.',
  minLength: { value: 12, message: 'At least 12 characters.' },
  maxLength: { value: 128, message: 'At most 128 characters.' },
}
