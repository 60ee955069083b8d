import type { Mutant } from './mutant.ts'

/** Bugs in replacing the root secret, and in noticing a wrong one. */
const ONCE =
  'an Idempotency-Key that is sent to two gateways is charged once, whichever steps of a rotation they are at'
const WRONG = 'a process with a wrong secret does not start, whichever role it has, and says which one is wrong'

export const SECRETS: Mutant[] = [
  {
    bug: 'each process derives digests from the secret that it has first, so a repeated call is charged twice in a rotation',
    file: 'src/store/secret-versions.ts',
    from: 'return unsealDigestKeys(secrets, row.digest_keys)',
    to: 'return row && firstDigestKeys(secrets)',
    test: 'test/integration/secret-rotation.test.ts',
    title: ONCE,
  },
  {
    bug: 'the keys of digests of all secrets are sealed under the first, so whoever has only another cannot open them',
    file: 'src/platform/digest-keys.ts',
    from: "return secrets.seal(JSON.stringify(texts), CONTEXT, 'digest-keys', version)",
    to: "return secrets.seal(JSON.stringify(texts), CONTEXT, 'digest-keys', version && secrets.version)",
    test: 'src/platform/digest-keys.test.ts',
    title: 'the keys of digests open with each secret that they were sealed under, and with no other',
  },
  {
    bug: 'two processes that record the first secrets at once make digest keys each',
    file: 'src/store/secret-versions.ts',
    from: 'await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx)',
    to: 'await sql`select ${LOCK}::int`.execute(tx)',
    test: 'test/integration/wrong-secret.test.ts',
    title: 'secrets that two processes record at the same moment have the same digest keys',
  },
  {
    bug: 'a wrong secret is not noticed',
    file: 'src/store/secret-versions.ts',
    from: '!secrets.checkValueOf(version).equals(check_value)',
    to: 'check_value.length !== 32 && secrets.checkValueOf(version).length > 0',
    test: 'test/integration/wrong-secret.test.ts',
    title: WRONG,
  },
  {
    bug: 'a process that has none of the secrets of the installation starts',
    file: 'src/store/secret-versions.ts',
    from: 'if (own.length > 0 || known.length === 0) return undefined',
    to: 'if (own.length >= 0 || known.length === 0) return undefined',
    test: 'test/integration/wrong-secret.test.ts',
    title: 'a process that lists none of the secrets that the installation works with does not start either',
  },
  {
    bug: 'a process that started while the store was away goes on with a wrong secret',
    file: 'src/stores.ts',
    from: '        throw error\n      })',
    to: '        return error\n      })',
    test: 'test/integration/wrong-secret.test.ts',
    title: 'a process that starts while the store is away ends as soon as it can tell that its secret is wrong',
  },
  {
    bug: 'a pair of a secret that the gateway lacks is a 500',
    file: 'src/gateway/missing-secret.ts',
    from: 'throw storeUnavailable({ secretVersion })',
    to: 'throw error',
    test: 'test/integration/secret-rotation.test.ts',
    title:
      'a pair made under the new secret works at every gateway that lists it; another says 503 and names the secret in its log',
  },
  {
    bug: 'keys are rewrapped under a secret that a live gateway lacks',
    file: 'src/actions/catalogue/secrets.ts',
    from: '!gateway.secret_versions?.includes(version)',
    to: 'gateway.secret_versions?.length === 0',
    test: 'test/integration/secret-rotation.test.ts',
    title: 'while a live gateway lacks a secret, nothing is sealed under it, and the refusal names the gateway',
  },
  {
    bug: 'a gateway that cannot open the key of a model’s only provider says that it is ready',
    file: 'src/gateway/gateway-health.ts',
    from: 'catalogue.problem === undefined ? [] : [catalogue.problem]',
    to: '[]',
    test: 'test/integration/wrong-secret.test.ts',
    title: 'a gateway that cannot open the key of a model’s only provider is not ready and says why, until it can',
  },
  {
    bug: 'a secret that key pairs need can be forgotten',
    file: 'src/actions/catalogue/secrets.ts',
    from: 'if (!isLost) await expectUnused(tx, input)',
    to: 'if (isLost) await expectUnused(tx, input)',
    test: 'test/integration/secrets.test.ts',
    title: 'a secret is forgotten when nothing needs it, and not before',
    isStory: true,
  },
]
