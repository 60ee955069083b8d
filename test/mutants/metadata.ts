import type { Mutant } from './mutant.ts'

const RULES = 'src/rules/calls/metadata.ts'
const FIELDS = 'src/rules/calls/ignored-fields.ts'
const STORE = 'src/store/calls/metadata.ts'
const STORED = 'test/integration/call-metadata.test.ts'
const COUNTED = 'src/store/calls/ignored-fields.ts'
const COUNTS = 'test/integration/ignored-fields.test.ts'

/** What callers send beside their question: metadata, and fields that nobody reads. */
export const METADATA: Mutant[] = [
  {
    bug: 'a seventeenth pair of metadata is kept',
    file: RULES,
    from: 'pairs.length === METADATA_PAIRS_MAX',
    to: 'pairs.length > METADATA_PAIRS_MAX',
    test: 'src/rules/calls/metadata.test.ts',
    title: 'the seventeenth pair is left out, and one that does not fit takes no place',
  },
  {
    bug: 'metadata that cannot be stored is tried to',
    file: RULES,
    from: "value.isWellFormed() && !value.includes('\\0') && ",
    to: '',
    test: 'src/rules/calls/metadata.test.ts',
    title: 'whatever cannot be kept is left out, and all else stays',
  },
  {
    bug: 'metadata comes back to a conversation that was deleted meanwhile',
    file: STORE,
    from: '    where c.deleted_at is null\n',
    to: '',
    test: STORED,
    title: 'metadata goes with its conversation, and is not brought back by a call that ends later',
  },
  {
    bug: 'metadata does not wait for a conversation that is being deleted',
    file: STORE,
    from: ' from sent) for share',
    to: ' from sent)',
    test: STORED,
    title: 'metadata that is written while its conversation is being deleted is gone when that is done',
  },
  {
    bug: 'metadata outlives its conversation',
    file: 'src/store/calls/conversations.ts',
    from: '    await deleteMetadataOfConversation(tx, key)\n',
    to: '',
    test: STORED,
    title: 'metadata goes with its conversation, and is not brought back by a call that ends later',
  },
  {
    bug: 'metadata outlives its end user',
    file: 'src/store/calls/end-users.ts',
    from: 'await deleteMetadataOfEndUser(tx, { projectId, id })',
    to: 'await Promise.resolve(false)',
    test: STORED,
    title: 'metadata goes with its end user, however many calls there were',
  },
  {
    bug: 'of an end user with many calls, only the first metadata is erased',
    file: STORE,
    from: '    from = upTo\n',
    to: '    from = undefined\n',
    test: STORED,
    title: 'metadata goes with its end user, however many calls there were',
  },
  {
    bug: 'metadata of a call is found by its key alone',
    file: 'src/store/calls/calls.ts',
    from: '      and t.value = ${metadata.value} and ',
    to: '      and ',
    test: STORED,
    title: 'the log is filtered by a pair, exactly, alone and beside other filters',
  },
  {
    bug: 'a shorter retention leaves metadata that is there',
    file: 'src/worker/retention/expire-content.ts',
    from: '      await untilNoneIsLeft((most) => cutMetadata(db, most), metadata)\n',
    to: '',
    test: 'test/integration/worker-retention.test.ts',
    title: 'metadata goes when it was promised to, whatever its project wants since, and earlier when it wants less',
  },
  {
    bug: 'a longer retention keeps metadata that was promised to go',
    file: 'src/worker/retention/expire-content.ts',
    from: '      await untilNoneIsLeft((most) => expireMetadata(db, most), metadata)\n',
    to: '',
    test: 'test/integration/worker-retention.test.ts',
    title: 'metadata goes when it was promised to, whatever its project wants since, and earlier when it wants less',
  },
  {
    bug: 'metadata of a project that keeps no text is stored',
    file: 'src/gateway/call-metadata.ts',
    from: 'retentionDays > 0 ? metadataOf(body) : []',
    to: 'metadataOf(body)',
    test: 'test/e2e/metadata.test.ts',
    title: 'a project that keeps no text keeps no metadata',
  },
  {
    bug: 'the names of ignored fields are whatever is sent, however long',
    file: FIELDS,
    from: '.slice(0, NAME_CHARACTERS_MAX)',
    to: '',
    test: 'src/rules/calls/ignored-fields.test.ts',
    title: 'a name has 64 characters that can be seen: others are marked, so that it does not look like the right one',
  },
  {
    bug: 'an ignored field is told with what was in it',
    file: FIELDS,
    from: 'for (const field of Object.keys(fieldsIn(body)).slice(0, FIELDS_READ_MAX)) {',
    to: 'for (const field of Object.entries(fieldsIn(body)).map(String)) {',
    test: 'test/e2e/metadata.test.ts',
    title: 'a field that nobody reads is counted by its name, and its value is stored and logged nowhere',
  },
  {
    bug: 'the table of ignored fields takes every new name',
    file: COUNTED,
    from: 'where not is_new or place',
    to: 'where true or place',
    test: COUNTS,
    title: 'a project has fifty names a day and no more, however many gateways write at once',
  },
  {
    bug: 'a gateway remembers every ignored field that it sees',
    file: 'src/gateway/intake/ignored-fields.ts',
    from: 'if (times > 0 || (fields?.size ?? 0) < IGNORED_FIELDS_PER_DAY_MAX)',
    to: 'if (fields)',
    test: 'src/gateway/intake/ignored-fields.test.ts',
    title: 'a gateway remembers fifty names of a project between two writes, and no more than two thousand projects',
  },
  {
    bug: 'ignored fields of a project that is full of them are no longer counted',
    file: COUNTED,
    from: 'where not is_new or place',
    to: 'where place',
    test: COUNTS,
    title: 'a project has fifty names a day and no more, however many gateways write at once',
  },
]
