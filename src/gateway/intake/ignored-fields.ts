import { IGNORED_FIELDS_PER_DAY_MAX, ignoredFieldsOf } from '../../rules/calls/ignored-fields.ts'
import { countIgnoredFields, type IgnoredField } from '../../store/calls/ignored-fields.ts'
import type { Db } from '../../store/database.ts'
import type { Call } from '../call.ts'

/** Fields of requests that nobody reads, counted by name for whoever has mistyped one. */
export interface IgnoredFields {
  /** Only for a call that has credit: a caller that is always refused is not worth a row. */
  note(call: Pick<Call, 'caller' | 'createdAt' | 'body' | 'endpoint'>): void
  /**
   * Writes the counts down, now and then and out of the way of calls. Those that cannot be written are kept for the next time;
   * where only the answer was lost, they are counted twice, which misleads nobody about a mistyped name.
   */
  write(): Promise<void>
}

/** In memory at any time. A name that finds no place is counted when it is sent again. */
const PROJECTS_MAX = 2_000
const WRITTEN_AT_ONCE = 1_000

export function createIgnoredFields(db: Db, statement = countIgnoredFields): IgnoredFields {
  const counted = new Map<string, Map<string, IgnoredField>>()

  function fieldsOf(projectId: string): Map<string, IgnoredField> | undefined {
    const known = counted.get(projectId)
    if (known || counted.size >= PROJECTS_MAX) return known
    const fields = new Map<string, IgnoredField>()
    counted.set(projectId, fields)
    return fields
  }

  function add({ projectId, name, times, lastAt }: IgnoredField): void {
    const fields = fieldsOf(projectId)
    const known = fields?.get(name)
    if (known) {
      known.times += times
      if (lastAt > known.lastAt) known.lastAt = lastAt
    } else if ((fields?.size ?? 0) < IGNORED_FIELDS_PER_DAY_MAX) {
      fields?.set(name, { projectId, name, times, lastAt })
    }
  }

  return {
    note({ caller: { projectId }, createdAt: lastAt, body, endpoint }) {
      for (const name of ignoredFieldsOf(body, endpoint)) add({ projectId, name, times: 1, lastAt })
    },
    async write() {
      const fields = counted
        .values()
        .flatMap((byName) => byName.values())
        .toArray()
      counted.clear()
      for (let n = 0; n < fields.length; n += WRITTEN_AT_ONCE) {
        const some = fields.slice(n, n + WRITTEN_AT_ONCE)
        try {
          await statement(db, some)
        } catch (error) {
          // Kept for the next write, among what was counted meanwhile; last those that failed, should it be because of one of them.
          for (const field of [...fields.slice(n + WRITTEN_AT_ONCE), ...some]) add(field)
          throw error
        }
      }
    },
  }
}
