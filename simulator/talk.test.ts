import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEMO_QUESTIONS } from '../test/support/demo-questions.ts'
import { createSimulator } from './server.ts'
import { talkAbout } from './talk.ts'

test('a greeting is answered with a greeting that says that it is simulated', () => {
  for (const greeting of ['Say hello.', 'Say hello to my readers.', 'Hello!', 'hi', 'Good morning, Parley'])
    assert.match(talkAbout(greeting), /^Hello!.*simulated/, greeting)
})

test('who asks about something to buy hears about that, and about nothing else', () => {
  assert.equal(DEMO_QUESTIONS.length, 12)
  for (const { question, answer } of DEMO_QUESTIONS) {
    const said = talkAbout(question)
    assert.match(said, answer)
    assert.equal(DEMO_QUESTIONS.filter((each) => each.answer.test(said)).length, 1, question)
  }
})

test('who asks for headlines gets as many as asked for, about what was asked', () => {
  const three = talkAbout('Write three headlines for a story about a town that banned cars for a week.')
  assert.equal(three.split('\n').length, 3)
  for (const line of three.split('\n')) assert.match(line, /^\d\. .*town that banned cars for a week/)
  assert.doesNotMatch(three, /headphones/)
  assert.equal(talkAbout('Give me 5 headlines about running shoes').split('\n').length, 5)
  assert.equal(talkAbout('A headline, please').split('\n').length, 3)
  assert.equal(talkAbout('99 titles for my blog').split('\n').length, 6)
})

test('to everything else it says what was asked, and that it is simulated', () => {
  const answer = talkAbout('Explain why the price of coffee\nhas doubled.')
  assert.match(answer, /“Explain why the price of coffee has doubled”.*simulated/)
  assert.ok(talkAbout('x'.repeat(100_000)).length < 600)
  assert.match(talkAbout(''), /simulated/)
})

test('only a model that is told to talk does, and what a request scripts goes before', async () => {
  const simulator = await createSimulator()
  const said = async (model: string, content: string) => {
    const response = await fetch(`${simulator.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
    })
    return ((await response.json()) as { choices: [{ message: { content: string } }] }).choices[0].message.content
  }
  try {
    assert.match(await said('sim?talk=1', 'Say hello.'), /^Hello!/)
    assert.doesNotMatch(await said('sim', 'Say hello.'), /Hello|simulated/)
    assert.equal(await said('sim?talk=1', 'Say hello. [[sim text=Bonjour]]'), 'Bonjour')
    assert.equal((await said('sim?talk=1', 'Say hello. [[sim tokens=7]]')).split(' ').length, 7)
  } finally {
    await simulator.close()
  }
})
