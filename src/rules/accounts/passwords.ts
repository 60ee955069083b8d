/** Long enough, but what everybody tries first. Compared without case, spaces and the usual replacements of letters. */
const COMMON = [
  'password', 'passwordpassword', 'passw0rd', 'letmein', 'letmeinplease', 'iloveyou', 'iloveyouforever', 'qwerty', 'qwertyuiop',
  'qwertyuiopasdf', 'qwertyuiopasdfghjklzxcvbnm', 'qwertzuiop', 'azertyuiop', 'asdfghjkl', 'zxcvbnm', 'qazwsxedc', 'qazwsxedcrfv',
  'qazwsxedcrfvtgb', 'onetwothree', 'administrator', 'adminadmin', 'adminadminadmin', 'changeme', 'changemeplease', 'changemenow',
  'default', 'defaultpassword', 'welcome', 'welcometoparley', 'mypassword', 'mypasswordis', 'thisismypassword', 'secret', 'secretpassword',
  'supersecret', 'topsecret', 'monkey', 'dragon', 'sunshine', 'princess', 'football', 'baseball', 'superman', 'trustno', 'abcdefghijkl',
  'abcdefghijklm', 'abcdefghijklmnopqrstuvwxyz', 'abcabcabcabc', 'testtesttest', 'testpassword', 'temporary', 'temppassword', 'parley',
  'parleyparley', 'parleypassword', 'correcthorsebatterystaple', 'computer', 'internet', 'michelle', 'jennifer', 'liverpool', 'manchester',
] // prettier-ignore

const COMMON_SET = new Set(COMMON)
const SEQUENCES = ['01234567890123456789', '98765432109876543210', 'abcdefghijklmnopqrstuvwxyz']

/** Why a new password would be guessed among the first, or undefined. Its length is checked elsewhere. */
export function weaknessOf(password: string, email: string): string | undefined {
  const plain = password.toLowerCase().replaceAll(/\s/g, '')
  if (new Set(plain).size < 5) return 'Use more than a few different characters.'
  if (SEQUENCES.some((sequence) => sequence.includes(plain)))
    return 'This is one of the most guessed passwords. Choose another.'
  const letters = plain
    .replace(/[^a-z]+$/, '')
    .replaceAll('0', 'o')
    .replaceAll('1', 'i')
    .replaceAll('3', 'e')
    .replaceAll('@', 'a')
    .replaceAll('$', 's')
    .replaceAll(/[^a-z]/g, '')
  const bare = plain.replaceAll(/[^a-z]/g, '')
  if (COMMON_SET.has(letters) || COMMON_SET.has(bare) || /^\d+$/.test(plain))
    return 'This is one of the most guessed passwords. Choose another.'
  const [user = ''] = email.toLowerCase().split('@')
  if (plain === email.toLowerCase() || (user.length >= 4 && bare === user.replaceAll(/[^a-z]/g, '')))
    return 'Do not use your email address as your password.'
  return undefined
}
