/** A conversation with everything in it that the viewer can draw. */
export const TALK = [
  { role: 'system', content: 'You are the kitchen assistant of **Recipes**. Answer briefly, in metric units.' },
  { role: 'user', content: 'How do I keep a sourdough starter alive while I am away for three weeks?' },
  {
    role: 'assistant',
    content: [
      'A healthy starter survives three weeks in the fridge. In short:',
      '',
      '1. **Feed it** one part starter, two parts flour, two parts water.',
      '2. Let it rise for *two hours* at room temperature.',
      '3. Close the jar and put it at `4 °C`.',
      '',
      '| Time away | What to do | Effort |',
      '|:--|:--|--:|',
      '| 1 week | Fridge | 5 min |',
      '| 3 weeks | Fridge, stiff dough | 10 min |',
      '| 3 months | Dry it on paper | 30 min |',
      '',
      '> A grey liquid on top is alcohol, not mould. Pour it off.',
      '',
      'More at [King Arthur](https://www.kingarthurbaking.com/learn/guides/sourdough).',
    ].join('\n'),
  },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Mine looks like this. How much flour is two cups?' },
      { type: 'image_url', image_url: { url: 'https://cdn.example.com/starter-jar.jpg' } },
    ],
  },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: 'call_1',
        type: 'function',
        function: { name: 'convert_units', arguments: '{"amount":2,"from":"cup","to":"g","of":"wheat flour"}' },
      },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: '{"grams":250}' },
  {
    role: 'assistant',
    content: [
      'Two cups of wheat flour are about **250 g**. For a schedule you can use:',
      '',
      '```python',
      'def feed(starter: int) -> dict[str, int]:',
      '    return {"flour": 2 * starter, "water": 2 * starter}',
      '```',
      '',
      '![A jar of starter](https://cdn.example.com/healthy.jpg)',
    ].join('\n'),
  },
]

/** Shorter ones, as a list of conversations has them. */
export const TALKS = [
  {
    id: 'knife-guide',
    messages: [
      { role: 'user', content: 'Which kitchen knife should I buy first?' },
      { role: 'assistant', content: 'A **chef’s knife** of 20 cm: it does nine tasks out of ten.' },
      { role: 'user', content: 'And how often does it need sharpening?' },
      { role: 'assistant', content: 'Hone it weekly, and have it sharpened *twice a year*.' },
    ],
  },
  {
    id: 'vegan-carbonara',
    messages: [
      { role: 'user', content: 'Can carbonara be made vegan without losing the point of it?' },
      {
        role: 'assistant',
        content: 'Yes: silken tofu for the cream, **black salt** for the egg, smoked tofu for the guanciale.',
      },
    ],
  },
  {
    id: 'weekly-menu',
    messages: [
      { role: 'user', content: 'Plan five dinners for two, under 40 euros, with leftovers for lunch.' },
      { role: 'assistant', content: '- **Mon** lentil soup\n- **Tue** fried rice\n- **Wed** shakshuka' },
      { role: 'user', content: 'Swap Tuesday for something without rice.' },
      { role: 'assistant', content: 'Tuesday becomes **udon with greens**; the budget stays at €38.' },
      { role: 'user', content: 'Write me the shopping list.' },
      { role: 'assistant', content: '1. Red lentils, 500 g\n2. Udon, 2 packs\n3. Eggs, 10' },
    ],
  },
]

/** A model's answer to the question about headlines. */
export const ANSWER = [
  'Three headlines, from sober to cheeky:',
  '',
  '1. **A week without cars: what the town learned**',
  '2. **Seven quiet days, and nobody wants the noise back**',
  '3. **Parking space of the year: taken by a picnic**',
  '',
  '| Headline | Length | Tone |',
  '|:--|--:|:--|',
  '| First | 37 characters | sober |',
  '| Second | 48 characters | warm |',
  '| Third | 46 characters | cheeky |',
  '',
  'The second works best on a phone: it still makes sense when it is cut after *seven quiet days*.',
].join('\n')
