import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isEnglish } from './language.ts'

const english = [
  'best running shoes under 100',
  'waterproof hiking boots',
  'cheap flights to Lisbon',
  'gift for dad',
  'gaming chair',
  'need a new mattress',
  'Which espresso machine is good for beginners?',
  'hotel in Paris with kids',
  'vacuum cleaner for pet hair',
  'standing desk recommendations pls',
  'restaurants near me',
  'My laptop battery lasts 40 minutes now. Is it worth repairing or should I replace it?',
  'I want to make crème brûlée at home. What do I need besides a torch?',
  'Looking for a quiet dishwasher, 45 cm wide, see https://example.com/geschirrspueler-leise-kaufen for what I have now',
  'any good podcast mic?',
  'noise cancelling headphones for the office',
  'what size backpack for a 3 day trip',
  'I bought a used piano and the bench is broken.',
  'kids bike age 6',
  'how do I get red wine out of a carpet',
]

const foreign: Record<string, string[]> = {
  German: [
    'beste Laufschuhe unter 100 Euro',
    'Ich suche einen leisen Geschirrspüler',
    'hotel in Berlin buchen',
    'danke',
  ],
  French: ['meilleures chaussures de course', 'Quel ordinateur portable pour un étudiant ?', 'bonjour'],
  Spanish: ['zapatos para correr baratos', '¿Qué portátil me recomiendas?', 'hola'],
  Italian: ['migliori scarpe da corsa', 'Cerco un regalo per mia madre', 'hotel a Roma'],
  Portuguese: ['melhores tênis de corrida', 'Preciso de um presente para o meu pai'],
  Dutch: ['beste hardloopschoenen', 'Ik zoek een stille vaatwasser voor in de keuken'],
  Polish: ['najlepsze buty do biegania', 'Szukam prezentu dla mamy'],
  Swedish: ['bästa löparskor', 'Jag letar efter en ny dator'],
  Danish: ['bedste løbesko', 'Jeg leder efter en gave til min far'],
  Finnish: ['parhaat juoksukengät', 'Tarvitsen uuden kannettavan tietokoneen'],
  Turkish: ['en iyi koşu ayakkabısı', 'Yeni bir bilgisayar almak istiyorum'],
  Russian: ['лучшие кроссовки для бега'],
  Greek: ['καλύτερα παπούτσια για τρέξιμο'],
  Chinese: ['跑步鞋推荐'],
  Japanese: ['ランニングシューズ おすすめ'],
  Korean: ['러닝화 추천해 주세요'],
  Arabic: ['أفضل حذاء للجري'],
  Hebrew: ['נעלי ריצה מומלצות'],
  Hindi: ['दौड़ने के लिए जूते'],
  Ukrainian: ['найкращі кросівки для бігу'],
  Czech: ['nejlepší boty na běhání', 'Hledám dárek pro tátu'],
  Hungarian: ['legjobb futócipő', 'Új laptopot szeretnék venni'],
  Romanian: ['cei mai buni pantofi de alergare', 'Caut un cadou pentru mama'],
  Indonesian: ['laptop untuk mahasiswa', 'Saya mencari hadiah untuk ayah'],
}

for (const [language, phrases] of Object.entries(foreign)) {
  test(`${language} is not taken for English`, () => {
    assert.deepEqual(phrases.filter(isEnglish), [])
  })
}

test('English passes, down to phrases of two words as people type them into a shop', () => {
  assert.deepEqual(
    english.filter((phrase) => !isEnglish(phrase)),
    [],
  )
})

test('two languages in one text are not English', () => {
  for (const text of [
    'Please recommend a good laptop. Ich habe leider nicht so viel Geld und brauche etwas Leichtes.',
    'I am looking for shoes. Je cherche des chaussures de course pour ma femme.',
    'best shoes 跑步鞋推荐 for running',
  ]) {
    assert.ok(!isEnglish(text), text)
  }
})

test('code, numbers and nothing are not English', () => {
  for (const text of [
    '',
    '   ',
    '12345',
    '🙂🙂',
    'SELECT * FROM users WHERE id = 1;',
    'const total = items.reduce((sum, item) => sum + item.price, 0)',
    '```\nbest shoes\n```',
    'def f(x):\n    return x[0] + y["a"]',
    '<div class="shop"><p>shoes</p></div>',
  ]) {
    assert.ok(!isEnglish(text), text)
  }
})
