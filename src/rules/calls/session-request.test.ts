import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSessionRequest } from './session-request.ts'

test('who asks for nothing gets little: 15 minutes, 50 calls, $0.50', () => {
  const little = { seconds: 900, calls: 50, money: 500_000_000n }
  assert.deepEqual(parseSessionRequest({}), little)
  assert.deepEqual(parseSessionRequest({ seconds: null, money: null, models: null, end_user: null }), little)
})

test('what is asked for is taken as it is', () => {
  const asked = {
    end_user: 'ada',
    models: ['m'],
    max_tokens: 100,
    calls: 1,
    money: '1',
    seconds: 3600,
    origins: ['https://a.example'],
  }
  assert.deepEqual(parseSessionRequest(asked), { ...asked, money: 1n })
  assert.equal(parseSessionRequest({ money: '9223372036854775807' }).money, 2n ** 63n - 1n)
})

const WRONG: [body: unknown, param: string | undefined, sentence: RegExp][] = [
  [{ seconds: 3601 }, 'seconds', /^seconds must be at most 3600\.$/],
  [{ seconds: 0 }, 'seconds', /^seconds must be greater than 0\.$/],
  [{ seconds: '900' }, 'seconds', /^seconds must be a number\.$/],
  [{ calls: 0 }, 'calls', /^calls must be greater than 0\.$/],
  [{ calls: 10_001 }, 'calls', /^calls must be at most 10000\.$/],
  [{ calls: 1.5 }, 'calls', /^calls must be an integer\.$/],
  [{ money: 5 }, 'money', /^money must be nanos of a credit, as text/],
  [{ money: '0' }, 'money', /^money must be nanos/],
  [{ money: '-5' }, 'money', /^money must be nanos/],
  [{ money: '0.5' }, 'money', /^money must be nanos/],
  [{ money: '9223372036854775808' }, 'money', /^money must be nanos/],
  [{ models: [] }, 'models', /^models must not be empty\.$/],
  [{ models: 'sim' }, 'models', /^models must be an array\.$/],
  [{ models: [7] }, 'models[0]', /^models\[0\] must be a string\.$/],
  [{ origins: [] }, 'origins', /^origins must not be empty\.$/],
  [{ origins: Array(21).fill('https://a.example') }, 'origins', /^origins must be at most 20 items long\.$/],
  [{ origins: [`https://${'a'.repeat(260)}`] }, 'origins[0]', /^origins\[0\] must be at most 267 characters long\.$/],
  [{ max_tokens: 0 }, 'max_tokens', /^max_tokens must be greater than 0\.$/],
  [{ end_user: '' }, 'end_user', /^end_user must not be empty\.$/],
  [{ end_user: 'x'.repeat(513) }, 'end_user', /^end_user must be at most 512 characters long\.$/],
  [{ max_token: 5 }, 'max_token', /^A session accepts only end_user, models, .*\.$/],
  [[], undefined, /must be a JSON object/],
  ['', undefined, /must be a JSON object/],
]
test('what cannot be is refused, and so is a field that is not known: a mistyped bound would be none', () => {
  for (const [body, param, sentence] of WRONG)
    assert.throws(
      () => parseSessionRequest(body),
      (error: Error & { options?: { param?: string } }) =>
        sentence.test(error.message) && error.options?.param === param,
      JSON.stringify(body),
    )
})
