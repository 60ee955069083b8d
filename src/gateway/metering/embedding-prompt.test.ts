import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTextTokens } from '../../rules/calls/tokens.ts'
import { meterInputs } from './embedding-prompt.ts'

type Metering = Parameters<typeof meterInputs>

function heldFor(inputs: string[]): Promise<{ tokens: number }> {
  const gateway = {
    statistics: { tokenRatio: () => 1 },
    chance: Math.random,
    work: {
      run: (_: string, doing: () => unknown) => doing(),
      runInTurn: (_: string, doing: () => unknown) => doing(),
    },
  } as unknown as Metering[0]
  const call = { caller: { publisherId: 'p' }, bodyBytes: 1 } as Metering[1]
  const request = { model: 'm', inputs, isSingle: false, format: 'float', dimensions: undefined } as const
  return meterInputs(gateway, call, request, { contextWindow: 8_192, figures: {} } as Metering[3])
}

test('inputs of which a tokenizer would make one run are held each by itself', async () => {
  for (const input of [
    '\n'.repeat(9),
    ' '.repeat(16),
    '\r\n\r\n\r\n\r\n\r',
    '.'.repeat(9),
    '='.repeat(11),
    '\n '.repeat(5),
  ]) {
    const inputs = Array<string>(2_048).fill(input)
    const { tokens } = await heldFor(inputs)
    const counted = inputs.length * countTextTokens(input)
    assert.ok(tokens >= counted, `${JSON.stringify(input)}: ${tokens} of ${counted}`)
    assert.ok(tokens <= 4 * counted, `${JSON.stringify(input)}: ${tokens} of ${counted}`)
  }
})

test('no fewer tokens are held than there are inputs', async () => {
  const inputs = ['x '.repeat(2_000), ...Array<string>(20_000).fill('\n')]
  assert.ok((await heldFor(inputs)).tokens >= inputs.length)
})
