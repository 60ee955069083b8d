/**
 * Conversations that advertisers try their hints on. Each was written for that: nobody has said any of it. Most are people who want
 * to buy something, in as many ways as people do; the last ones are what no recommendation may ever stand under.
 */
export interface SampleConversation {
  said: string
  answer: string
}

export const SAMPLE_CONVERSATIONS: readonly SampleConversation[] = [
  {
    said: 'It is loud around my home office all day. Which noise-cancelling headphones should I buy?',
    answer:
      'Look for over-ear headphones with active noise cancelling: they take away a steady hum and most voices. Comfort matters more than sound if you wear them for hours, so try how much they press.',
  },
  {
    said: 'What office chair would you recommend for long days at a desk, for under 400?',
    answer:
      'Choose a chair whose lumbar support and armrests can be adjusted, and a seat that ends two fingers behind your knees. A used chair of a good maker is often better than a new cheap one.',
  },
  {
    said: 'Can you recommend a good reading lamp for late evenings with a book?',
    answer:
      'A small clip-on lamp with warm light and a narrow beam lights the page and little else. One that can be dimmed and runs on a battery is easiest to place.',
  },
  {
    said: 'What tent should we buy for our first camping trip with four people and a car?',
    answer:
      'For four people take a tent for five or six, with a porch for wet shoes. Ventilation matters more than weight when you travel by car, and practise putting it up at home once.',
  },
  {
    said: 'Which running shoes should I buy for long runs on the road? My knees are a bit sensitive.',
    answer:
      'Take a well-cushioned road shoe with a rocker and a thumb of room before the toes. Run in it on a treadmill in the shop before you decide, and change it after 600 to 800 kilometres.',
  },
  {
    said: 'I want to make proper espresso at home. What machine is good for beginners?',
    answer:
      'A single-boiler machine with a standard 58 mm basket is enough to learn on. Plan as much money for the grinder as for the machine: without an even grind no machine makes good espresso.',
  },
  {
    said: 'Our dog pulls on the leash a lot. Which harness is worth buying for a 30 kg labrador?',
    answer:
      'A harness with a ring on the chest turns the dog gently towards you when it pulls. It must leave the shoulders free, and you should be able to put two fingers under every strap.',
  },
  {
    said: 'I need a laptop for studying graphic design. What should I buy and how much memory do I need?',
    answer:
      'Take 16 GB of memory at least, a screen that shows the whole sRGB range, and an SSD of 512 GB. A dedicated graphics card only matters for video and 3D.',
  },
  {
    said: 'Which suitcase should I buy for short trips with hand luggage only?',
    answer:
      'Take a light one with four wheels that stays below 55 by 40 by 20 cm, which nearly all airlines accept. A hard shell keeps its shape; a soft one has pockets outside.',
  },
  {
    said: 'We are looking for a hotel in Lisbon for a long weekend, quiet and close to good restaurants.',
    answer:
      'Príncipe Real and Campo de Ourique are quiet at night and full of good restaurants. Ask for a room that faces the courtyard, and book early for spring weekends.',
  },
  {
    said: 'What is a good first bicycle for a six-year-old who can already ride without training wheels?',
    answer:
      'A 20-inch bicycle that weighs under eight kilos is easiest to handle. Both feet should reach the ground from the saddle, and hand brakes must fit small hands.',
  },
  {
    said: 'I would like to grow vegetables on my balcony. Which planters and soil should I buy?',
    answer:
      'Take planters of at least 30 cm depth with a water reservoir, and potting soil without peat. Tomatoes want the sunniest corner, lettuce and herbs do well with half a day of sun.',
  },
  {
    said: 'Our freelance team needs accounting software that sends invoices and reminds late payers. What do you recommend?',
    answer:
      'Look for software with recurring invoices, automatic reminders and bank import, and make sure that your accountant can get in. Most offer a free month, so try it with real invoices.',
  },
  {
    said: 'Which robot vacuum should I get for a flat with a long-haired cat and thick carpets?',
    answer:
      'You want strong suction and a rubber brush that hair does not wind around, and a station that empties itself. On thick carpets a model that lifts its mop is the safer choice.',
  },
  {
    said: 'Which beginner guitar should I buy, acoustic or electric, for about 200 euros?',
    answer:
      'Buy what the music you love is played on. An electric guitar has softer strings and lets you practise with headphones; an acoustic one needs nothing else and goes everywhere.',
  },
  {
    said: 'My mother turns seventy and loves baking. What would be a nice present for about 100 euros?',
    answer:
      'A good hand mixer, a cast-iron cocotte for bread or a set of fine pastry rings all last for years. If she has everything, a class with a pastry chef is a present that you can share.',
  },
  {
    said: 'Can you recommend a sofa bed for a small flat, for under 900 euros?',
    answer:
      'A sofa bed with a real slatted frame and a mattress of 14 cm is comfortable for a week of guests. Measure the door and the stairs before you order.',
  },
  {
    said: 'Which hiking boots should I buy for a week in the Alps?',
    answer:
      'For marked paths a boot that reaches the ankle and has a flexible sole is enough. Try them in the evening with the socks that you will wear, and walk them in for some weeks.',
  },
  {
    said: 'I would like to learn Spanish before I move to Madrid in spring. Which course or app is worth paying for?',
    answer:
      'Combine an app for daily words with a teacher for an hour a week: speaking is what an app does not teach. Group courses are cheaper and keep you going.',
  },
  {
    said: 'We want to insulate our old windows before winter. Which products help without replacing them?',
    answer:
      'Self-adhesive rubber seals close most gaps, and insulating film makes a second pane for one winter. Heavy curtains help at night as long as they do not cover the radiator.',
  },
  {
    said: 'Which electric toothbrush should I buy? I want a soft one with a good battery.',
    answer:
      'One with a pressure sensor and a soft head, round or sonic. Brush for two minutes, let the brush do the work, and change the head every three months.',
  },
  {
    said: 'Why is the sky blue in the day and red in the evening?',
    answer:
      'Air scatters short waves of light more than long ones, so blue reaches us from all sides. In the evening light travels further through the air, and mostly red is left.',
  },
  {
    said: 'Please turn this into a polite email: I cannot come on Friday, is Monday fine?',
    answer: 'Dear Sam, unfortunately I cannot make it on Friday. Would Monday suit you instead? Kind regards',
  },
  {
    said: 'My father died two weeks ago and I cannot sleep. What should I do?',
    answer:
      'I am very sorry. Grief often takes sleep away at first. Be gentle with yourself, let people come near who are good for you, and talk to your doctor if it does not become better.',
  },
]
