import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRunning, lastOf, openedFrom, problemIn, promptOf, requestFor, type Settings, type Turn } from './chat.ts'
import { rowsOf } from './use-comparison.ts'

const SETTINGS: Settings = { model: 'sim-small', system: '', temperature: '', maxTokens: '', isStreamed: true }

function turn(question: string, text: string, state: Turn['state']): Turn {
  return { id: 1, question, text, state, events: [], request: requestFor(SETTINGS, [], question) }
}

test('a question is asked with what was said before, and without what failed or was never answered', () => {
  const earlier = [
    turn('one', 'first', 'done'),
    turn('two', 'half', 'stopped'),
    turn('three', 'broken', 'failed'),
    turn('four', '', 'stopped'),
  ]
  assert.deepEqual(requestFor({ ...SETTINGS, system: ' Be brief. ' }, earlier, 'five'), {
    model: 'sim-small',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'half' },
      { role: 'user', content: 'five' },
    ],
    temperature: null,
    maxTokens: null,
    stream: true,
  })
  const asked = requestFor({ ...SETTINGS, temperature: ' 0 ', maxTokens: '1', isStreamed: false }, [], 'six')
  assert.deepEqual(asked, {
    model: 'sim-small',
    messages: [{ role: 'user', content: 'six' }],
    temperature: 0,
    maxTokens: 1,
    stream: false,
  })
})

test('a question that is asked again takes the place of its answer, and not while that is being given', () => {
  const turns = [turn('one', 'first', 'done'), turn('two', 'second', 'done')]
  assert.deepEqual(lastOf(turns), { earlier: turns.slice(0, 1), question: 'two' })
  assert.deepEqual(lastOf([turn('one', 'half', 'failed')]), { earlier: [], question: 'one' })
  assert.equal(lastOf([...turns, turn('three', 'th', 'answering')]), undefined)
  assert.equal(lastOf([]), undefined)
})

test('a temperature is from 0 to 2 and a limit is a whole number from 1; nothing typed is no mistake', () => {
  const problem = (temperature: string, maxTokens = '') => problemIn({ ...SETTINGS, temperature, maxTokens })?.field
  for (const good of ['', ' ', '0', '2', '0.7']) assert.equal(problem(good), undefined, good)
  for (const bad of ['-0.1', '2.1', 'warm', 'NaN']) assert.equal(problem(bad), 'temperature', bad)
  for (const good of ['', '1', '4096']) assert.equal(problem('', good), undefined, good)
  for (const bad of ['0', '-1', '1.5', 'many', 'Infinity']) assert.equal(problem('', bad), 'maxTokens', bad)
})

test('a turn runs until it is done, stopped or failed', () => {
  const running = (['asking', 'answering', 'done', 'stopped', 'failed'] as const).map((state) =>
    isRunning(turn('q', '', state)),
  )
  assert.deepEqual(running, [true, true, false, false, false])
  assert.equal(isRunning(undefined), false)
})

test('a prompt that is saved and opened again is the same chat, with what is to be asked in the composer', () => {
  const settings = { ...SETTINGS, system: ' Be brief. ', temperature: '0', maxTokens: '' }
  const turns = [turn('one', 'first', 'done'), turn('lost', 'half', 'failed')]
  const asked = promptOf(settings, turns, ' two ')
  assert.deepEqual(asked, {
    model: 'sim-small',
    system: 'Be brief.',
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'two' },
    ],
    temperature: 0,
    maxTokens: null,
    stream: true,
  })
  const opened = openedFrom({ ...asked, id: 'x', name: 'x', savedAt: '', savedBy: null })
  assert.deepEqual(opened.settings, { ...settings, system: 'Be brief.' })
  assert.equal(opened.draft, 'two')
  assert.deepEqual(
    opened.turns.map(({ question, text, state, isShared }) => [question, text, state, isShared]),
    [['one', 'first', 'done', true]],
  )
  assert.deepEqual(promptOf(opened.settings, opened.turns, opened.draft), asked)
})

test('without a draft the last question is what is asked, and nothing is nothing', () => {
  const turns = [turn('one', 'first', 'done'), turn('two', 'second', 'done')]
  assert.deepEqual(
    promptOf(SETTINGS, turns, ' ').messages.map(({ content }) => content),
    ['one', 'first', 'two'],
  )
  assert.deepEqual(promptOf(SETTINGS, [], '').messages, [])
})

test('what was said before the comparison stands once, and each answer after it beside the other', () => {
  const [before, mine, theirs] = [turn('one', 'a', 'done'), turn('two', 'b', 'done'), turn('two', 'c', 'done')]
  const shared = { ...before, isShared: true as const }
  assert.deepEqual(rowsOf([before, mine], [shared, theirs]), [{ turns: [before] }, { turns: [mine, theirs] }])
  assert.deepEqual(rowsOf([before, mine], []), [{ turns: [before] }, { turns: [mine] }])
})
