/**
 * A simulated model's answers to people who try Parley: it answers a greeting with a greeting, a request for headlines with
 * headlines, and questions about a dozen things that one can buy with advice, so that a recommendation can follow. To
 * everything else it says that it is simulated. Chosen with the option `talk`; without it, replies are words in no
 * particular order.
 */

interface Topic {
  readonly asked: RegExp
  readonly advice: string
}

const TOPICS: readonly Topic[] = [
  {
    asked: /\b(?:head|ear)(?:phones?|buds?|sets?)\b/i,
    advice:
      'For long flights, over-ear headphones with active noise cancelling are the most comfortable choice. Look for at least 30 hours of battery, a case that folds flat, and a cable for the seat’s own screen.',
  },
  {
    asked:
      /\b(?:running|jogging|marathon)\b.*\bshoes?\b|\bshoes?\b.*\b(?:run|running|jog|jogging|marathon)\b|\btrainers\b|\brunning shoes?\b/i,
    advice:
      'For road running, choose cushioned running shoes with a thumb’s width of room in front of your toes. Try them in the evening, when your feet are a little larger, and replace them after about 700 kilometres.',
  },
  {
    asked: /\btents?\b|\bcamping\b/i,
    advice:
      'For two people, a light two-person tent with two doors and a porch is worth its price. Below two kilograms it is pleasant to carry, and a water column of 3,000 mm keeps heavy rain out.',
  },
  {
    asked:
      /\b(?:coffee|espresso)\b.*\b(?:machines?|makers?)\b|\b(?:machines?|makers?)\b.*\b(?:coffee|espresso)\b|\bespresso\b/i,
    advice:
      'For espresso at home, a compact espresso machine with a milk frother does all that most kitchens need. Spend the rest of the money on fresh beans and a good grinder: both change the taste more than the machine does.',
  },
  {
    asked: /\bkeyboards?\b/i,
    advice:
      'For long days of typing, a mechanical keyboard with quiet tactile switches is kind to hands and colleagues. A compact layout leaves more room for the mouse, and switches that can be swapped make it last for many years.',
  },
  {
    asked: /\b(?:bikes?|bicycles?|cycling)\b/i,
    advice:
      'For the way to work, a city bike with a belt drive, mudguards and built-in lights needs the least care. Test the frame size with a ride around the block: you should touch the ground with the tips of your toes.',
  },
  {
    asked: /\b(?:backpacks?|rucksacks?)\b/i,
    advice:
      'For weekends away, a travel backpack of about 30 litres fits under most aeroplane seats. Choose one that opens like a suitcase, has a padded pocket for a laptop, and carries its weight on a hip belt.',
  },
  {
    asked: /\bcameras?\b|\bphotograph(?:y|ing)\b/i,
    advice:
      'To begin with photography, a mirrorless camera with a 35 mm lens teaches more than any zoom. A viewfinder, a stabilised sensor and a second battery matter more than the number of pixels.',
  },
  {
    asked: /\bmattress(?:es)?\b/i,
    advice:
      'If you sleep on your side, a medium-firm mattress with zones for shoulders and hips keeps the spine straight. Pocket springs breathe better than foam, and a trial of some weeks tells more than five minutes in a shop.',
  },
  {
    asked: /\bgarden(?:ing)?\b.*\btools?\b|\btools?\b.*\bgarden(?:ing)?\b|\b(?:spades?|secateurs|pruning shears)\b/i,
    advice:
      'For a small garden, a set of garden tools with a spade, a hand fork and sharp secateurs covers nearly all the work. Stainless steel comes out of wet soil clean, and ash handles can be replaced.',
  },
  {
    asked: /\bboard ?games?\b/i,
    advice:
      'For an evening with four people who seldom play, a cooperative board game is the friendliest start: everyone wins or loses together. Choose one of about 45 minutes whose rules fit on two pages.',
  },
  {
    asked: /\b(?:cookware|saucepans?|frying pans?|pots and pans|pans?)\b/i,
    advice:
      'For everyday cooking, a cookware set with a stainless steel pot, a saucepan and one cast-iron pan is enough. Heavy bottoms spread the heat evenly, and handles of metal may go into the oven.',
  },
]

const GREETING =
  /^(?:(?:please )?(?:say|write|send) )?(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings|welcome)\b/i
const GREETED =
  'Hello! I am a simulated model, so nothing here was thought up for you. It does show that your request went all the way: keys, credit, a model, and back.'

const HEADLINES =
  /\b(?:(\d+|two|three|four|five|six) )?(?:headlines?|titles?)\b(?: for| about| on| of)*\s*(?:an? (?:story|article|post|piece)(?: about| on| of)*)?\s*(.*)/i
const NUMBERS: Record<string, number> = { two: 2, three: 3, four: 4, five: 5, six: 6 }
const HEADLINES_MAX = 6
const FORMS = [
  (subject: string) => `${capital(subject)}: what happened next`,
  (subject: string) => `Seven days that changed everything: ${subject}`,
  (subject: string) => `“We would do it again”: the story of ${subject}`,
  (subject: string) => `What others can learn from ${subject}`,
  (subject: string) => `Behind the scenes: ${subject}`,
  (subject: string) => `${capital(subject)}, in numbers`,
]
const SUBJECT_CHARACTERS_MAX = 120
/** Anything after these is not looked at: a prompt may have millions. */
const QUESTION_CHARACTERS_MAX = 2_000

/** The whole reply to this question. */
export function talkAbout(question: string): string {
  const asked = question.slice(0, QUESTION_CHARACTERS_MAX).trim()
  if (GREETING.test(asked)) return GREETED
  const headlines = HEADLINES.exec(asked)
  if (headlines) return headlinesFor(headlines[2] ?? '', headlines[1]?.toLowerCase())
  return TOPICS.find((topic) => topic.asked.test(asked))?.advice ?? simulatedAnswerTo(asked)
}

function headlinesFor(about: string, number: string | undefined): string {
  const subject = subjectOf(about) || 'your story'
  const count = Math.min(Math.max(NUMBERS[number ?? ''] ?? Number(number ?? 3), 1), HEADLINES_MAX) || 3
  return FORMS.slice(0, count)
    .map((form, n) => `${n + 1}. ${form(subject)}`)
    .join('\n')
}

function simulatedAnswerTo(asked: string): string {
  const about = asked === '' ? 'nothing' : `“${subjectOf(asked)}”`
  return `You asked about ${about}. I am a simulated model and know nothing of it, but a real one would answer here, token by token and charged as you see it. Ask me about headphones, tents or coffee machines to see advice that a recommendation can follow.`
}

/** Returns the question on one line, without its full stop. */
function subjectOf(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const short = line.length > SUBJECT_CHARACTERS_MAX ? `${line.slice(0, SUBJECT_CHARACTERS_MAX)}…` : line
  return short.replace(/[.!?]+$/, '')
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
