/** A question for each thing that simulated models give advice about, and what its answer and a fitting offer say. */
export const DEMO_QUESTIONS: readonly { question: string; answer: RegExp; offer: RegExp }[] = [
  { question: 'Which headphones are good for long flights?', answer: /over-ear headphones/, offer: /headphones/ },
  {
    question: 'What running shoes should I buy for my first marathon?',
    answer: /cushioned running shoes/,
    offer: /running shoes/,
  },
  { question: 'Which tent should I buy for a weekend of camping?', answer: /two-person tent/, offer: /tent/ },
  {
    question: 'Can you recommend a coffee machine for a small kitchen?',
    answer: /espresso machine/,
    offer: /espresso machine/,
  },
  { question: 'Which keyboard is good for programming?', answer: /mechanical keyboard/, offer: /keyboard/ },
  { question: 'What bike should I buy to ride to work?', answer: /city bike/, offer: /bike/ },
  { question: 'Which backpack fits under an aeroplane seat?', answer: /travel backpack/, offer: /backpack/ },
  { question: 'Which camera should a beginner buy?', answer: /mirrorless camera/, offer: /camera/ },
  {
    question: 'Compare mattresses with pocket springs and with foam: which is worth its price?',
    answer: /medium-firm mattress/,
    offer: /mattress/,
  },
  { question: 'Which garden tools do I need for a small garden?', answer: /set of garden tools/, offer: /garden tool/ },
  { question: 'Which cooperative board game should we buy?', answer: /cooperative board game/, offer: /board game/ },
  {
    question: 'What cookware should I buy for my first kitchen?',
    answer: /cookware set/,
    offer: /cookware|pots and pans/,
  },
]
