import { IGNORED_FIELDS_PER_DAY_MAX, ignoredFieldsOf } from '../../rules/calls/ignored-fields.ts'
import { countIgnoredFields, type IgnoredField } from '../../store/calls/ignored-fields.ts'
import type { Db } from '../../store/database.ts'
import type { Call } from '../call.ts'

/** Fields of requests that nobody reads, counted by name for whoever has mistyped one. */
export interface IgnoredFields {
  /** Of a call that has credit: who is always refused is not worth a row. */
  note(call: Pick<Call, 'caller' | 'createdAt' | 'body'>): void
  /** Writes the counts down, now and then and out of the way of calls. */
  write(): Promise<void>
}

/** Between two writes. A name that finds no place is counted when it is sent again. */
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

  return {
    note({ caller: { projectId }, createdAt: lastAt, body }) {
      const names = ignoredFieldsOf(body)
      if (names.length === 0) return
      const fields = fieldsOf(projectId)
      for (const name of names) {
        const { times = 0 } = fields?.get(name) ?? {}
        if (times > 0 || (fields?.size ?? 0) < IGNORED_FIELDS_PER_DAY_MAX)
          fields?.set(name, { projectId, name, times: times + 1, lastAt })
      }
    },
    async write() {
      const fields = counted
        .values()
        .flatMap((byName) => byName.values())
        .toArray()
      counted.clear()
      for (let n = 0; n < fields.length; n += WRITTEN_AT_ONCE) await statement(db, fields.slice(n, n + WRITTEN_AT_ONCE))
    },
  }
}
