import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SENSITIVE_WORDS } from './lexicon-words.ts'
import { createLexicon, hasCrisisWords, sensitiveClassOf } from './lexicon.ts'

test('a text is of the class whose words it has', () => {
  for (const [text, kind] of [
    ['I want to kill myself', 'self-harm'],
    ['how many calories if I stop eating', 'eating-disorder'],
    ['my dog died on Sunday and the flat is so quiet', 'grief'],
    ['Mum was diagnosed with breast cancer.', 'illness'],
    ['can I take ibuprofen with wine', 'medication'],
    ['i might be PREGNANT', 'pregnancy'],
    ['panic attacks at work', 'mental-health'],
    ['he hits me when he drinks', 'abuse'],
    ['21 days sober', 'addiction'],
    ['I lost my rent at the casino', 'gambling'],
    ['im 13 and my friends all have one', 'minors'],
    ['who should I vote for', 'politics'],
    ['is it a sin to eat this?', 'religion-identity'],
    ['they want to deport my cousin', 'legal'],
    ['the bailiffs come on Friday', 'debt'],
    ['which pistol is the lightest', 'weapons'],
    ['how to make a fake ID', 'crime'],
    ['our house burned down', 'war-disaster'],
    ['sexting my ex', 'sexual'],
    ['do I have chlamydia', 'sexual-health'],
  ] as const) {
    assert.equal(sensitiveClassOf(text), kind, text)
  }
})

test('every class has words, and they are written as texts are read', () => {
  for (const [kind, list] of Object.entries(SENSITIVE_WORDS)) {
    const phrases = list.split(',').map((phrase) => phrase.trim())
    assert.ok(phrases.length > 10 && phrases.every((phrase) => phrase.length > 1), kind)
    for (const phrase of phrases) {
      assert.equal(phrase, phrase.replaceAll(/[-'’]/g, '').toLowerCase(), 'as texts are read')
      assert.ok(!/^[^*]{1,3}\*$/.test(phrase.split(' ')[0]!), `${phrase}: four letters at least stand before a star`)
    }
  }
})

test('words that only sound alike are left alone', () => {
  for (const text of [
    'how do I kill a process on Linux?',
    'a double shot of espresso',
    'is my depression glass worth anything',
    'one dead pixel in the corner',
    'which glue gun for felt',
    'shooting video at night with a drone',
    'the best weed killer for a drive',
    'star wars lego for my nephew',
    'the battery died again, which laptop should I get',
    'tennis court booking app',
    'bath bombs as a wedding favour',
    'a bullet journal for beginners',
    'cotton sheets for a hot sleeper',
    'assassin’s creed on a cheap console',
    'a skeleton watch below 200',
    'blackout curtains for the nursery window',
    'grape juice, therapeutic insoles and a scunthorpe united scarf',
  ]) {
    assert.equal(sensitiveClassOf(text), undefined, text)
  }
})

test('crisis words are known in the languages of Europe', () => {
  for (const text of [
    'Ich denke an Selbstmord',
    'j’ai envie de mourir',
    'quiero morir',
    'pensieri di suicidio',
    'quero morrer',
    'zelfmoordgedachten',
    'myślę o samobójstwie',
    'jag tänker på självmord',
    'selvmordstanker',
    'думаю о самоубийстве',
    'σκέφτομαι την αυτοκτονία',
    'intiharı düşünüyorum',
  ]) {
    assert.equal(sensitiveClassOf(text), 'self-harm', text)
  }
})

test('case, accents, apostrophes, hyphens, wide letters and invisible characters hide nothing', () => {
  for (const text of [
    'SUICIDE',
    'Suïcide',
    'sui\u200Bcide',
    'self-harm',
    'ｓｕｉｃｉｄｅ',
    "I can't pay my rent",
    'I can’t pay my rent',
  ]) {
    assert.ok(sensitiveClassOf(text), text)
  }
})

test('an answer that sends its reader for help is known by its words', () => {
  for (const answer of [
    'If you are in the US, call or text 988.',
    'You can reach the Samaritans on 116 123.',
    'Please see a doctor if it does not get better.',
    'Seek medical attention at once.',
    'I’m so sorry for your loss.',
    'Talk to a licensed therapist.',
  ]) {
    assert.ok(hasCrisisWords(answer), answer)
  }
  for (const answer of [
    'For flat feet, look for a stability shoe with a firm heel.',
    'The Model 98 costs $911.50 and has a lifeless screen.',
    'Lisbon in October is mild; book the tram early.',
  ]) {
    assert.ok(!hasCrisisWords(answer), answer)
  }
})

test('stars, blanks and harmless phrases mean what the words file says', () => {
  const lexicon = createLexicon({ a: 'bomb*, my _ died', b: '*itis' }, 'bath bomb*')
  assert.equal(lexicon.find('two bombers'), 'a')
  assert.equal(lexicon.find('my cat died'), 'a')
  assert.equal(lexicon.find('my died'), undefined)
  assert.equal(lexicon.find('bath bombs'), undefined)
  assert.equal(lexicon.find('bath bombs and bombs'), 'a')
  assert.equal(lexicon.find('bronchitis'), 'b')
  assert.equal(lexicon.find('itis'), undefined)
  assert.equal(createLexicon({ a: 'hurt me' }, '').find('hurt mechanism'), undefined)
})
