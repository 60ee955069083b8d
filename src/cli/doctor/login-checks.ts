import { databaseUrlOf, LOGIN_VARIABLES, type Config } from '../../config.ts'
import type { Db } from '../../store/database.ts'
import { complaintOf, findStanding, hasLogins, LOGINS, type Login } from '../../store/database-logins.ts'
import type { Finding } from './checks.ts'
import { codeOf, NO_RIGHT, sentenceOf } from '../failures.ts'
import { openCommandStore } from '../session.ts'

/** Whether a hostile statement in a plane could do more than its plane may. */
export async function checkLogins(config: Config, db: Db): Promise<Finding[]> {
  const given = LOGINS.filter((login) => config[LOGIN_VARIABLES[login]] !== undefined)
  const missing = LOGINS.filter((login) => !given.includes(login))
  const findings = (await Promise.all(given.map((login) => checkLogin(config, login)))).flat()
  if (missing.length === 0) return findings.length > 0 ? findings : [{ check, state: 'ok', detail: OWN }]
  const detail = `not set here: ${missing.map((login) => LOGIN_VARIABLES[login]).join(', ')}`
  const mend = (await hasLogins(db))
    ? 'This is fine if they are set where those planes run.'
    : 'The logins do not exist yet: create them with "parley database logins".'
  return [...findings, { check, state: 'hint', detail, mend }]
}

const check = 'logins'
const OWN = 'every plane has its own, which may do no more than it needs'

async function checkLogin(config: Config, login: Login): Promise<Finding[]> {
  const url = databaseUrlOf(config, login)
  const store = openCommandStore({ url, applicationName: 'parley doctor' })
  try {
    const complaint = complaintOf(await findStanding(store.db, login), login)
    if (complaint === undefined) return []
    const mend = `Correct ${LOGIN_VARIABLES[login]}. "parley database logins" creates a login for each plane.`
    return [{ check: `login of ${login}`, state: 'problem', detail: complaint, mend }]
  } catch (error) {
    if (codeOf(error) === NO_RIGHT && error instanceof Error) {
      const mend = 'Run "parley database logins --from-env", which gives each login what it needs.'
      return [{ check: `login of ${login}`, state: 'problem', detail: error.message, mend }]
    }
    const detail = sentenceOf(error, url).replaceAll('DATABASE_URL', LOGIN_VARIABLES[login])
    return [{ check: `login of ${login}`, state: 'problem', detail }]
  } finally {
    await store.close()
  }
}
