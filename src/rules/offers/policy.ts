import { copyDoubtOf } from './copy-doubts.ts'

/**
 * The goods that are never recommended, no matter who pays, and those that a person has to look at first. By the feed's own
 * category and by the words of the title: a description names too many things that are not for sale ("alcohol-free", "drug
 * store").
 */
export const NEVER_ADVERTISED = [
  'adult',
  'gambling',
  'alcohol',
  'tobacco',
  'drugs',
  'weapons',
  'crypto',
  'credit repair',
  'political',
  'prescription medicine',
] as const
export type NeverAdvertised = (typeof NEVER_ADVERTISED)[number]

interface Policy {
  /** Ids in the product taxonomy that most feeds use, where a category is given as its number. */
  taxonomyIds?: readonly string[]
  category: RegExp
  /** In a title, these words name the thing itself. */
  title: RegExp
  /** In a title, these may name it, or something beside it: a person decides. */
  doubtful?: RegExp
}

const words = (list: string) => new RegExp(`(?<![\\p{L}\\p{N}])(?:${list})(?![\\p{L}\\p{N}])`, 'iu')

const POLICIES: Record<NeverAdvertised, Policy> = {
  adult: {
    taxonomyIds: ['772', '773', '780'],
    category: words(
      'mature|adults? only|erotica?|sex(?:ual)? (?:toys?|wellness|aids?)|porn\\w*|escorts?|adult (?:toys?|products?|dvds?|entertainment|novelt\\w+)',
    ),
    title: words(
      'dildos?|vibrators?|sex (?:toys?|dolls?|machines?)|butt plugs?|cock rings?|fleshlight|porn\\w*|escorts? service|strip ?club|onlyfans|bondage (?:kit|set|gear)|xxx (?:dvds?|videos?|movies?)',
    ),
    doubtful: words('erotic|fetish|bdsm|lubricants?'),
  },
  gambling: {
    category: words('gambling|casinos?|betting|lotter(?:y|ies)|sportsbooks?|slot machines?'),
    title: words(
      'online casino|casino bonus|free spins|sports ?book|betting (?:tips|bonus|account)|lottery tickets?|scratch cards?|slot machines?',
    ),
    doubtful: words('casino|poker|roulette|blackjack|lottery|betting'),
  },
  alcohol: {
    taxonomyIds: ['499676', '414', '417', '421'],
    category: words(
      'alcohol|alcoholic (?:beverages|drinks)|liquors?(?: & spirits)?|beers?|wines?|spirits|whisk(?:y|ey)|champagnes?',
    ),
    title: words(
      'whisk(?:y|ey|ies|eys)|bourbon|vodka|tequila|mezcal|liqueurs?|prosecco|cabernet sauvignon|pinot (?:noir|grigio)|chardonnay|merlot|sauvignon blanc|lager|pale ale|ipa|hard (?:seltzer|cider)|craft beers?|(?:red|white|rosé|sparkling) wines?|single malt',
    ),
    doubtful: words('wines?|beers?|brandy|cognac|champagne|gin|rum|sake|ales?|stout|cider|spirits|liquor|alcohol'),
  },
  tobacco: {
    taxonomyIds: ['435'],
    category: words(
      'tobacco(?: products)?|cigarettes?|cigars?|vap(?:es?|ing|orizers?)|e-?cigarettes?|nicotine|hookahs?|smoking',
    ),
    title: words(
      'cigarettes?|e-?cig(?:arette)?s?|cigars?|cigarillos?|(?:pipe|rolling|chewing|loose|smoking|shag) tobacco|vapes?|vaping|e-?liquids?|vape juice|nicotine (?:pouches|salts?)|snus|hookahs?|shisha|rolling papers?',
    ),
    doubtful: words('tobacco|nicotine|smoking|ashtrays?|humidors?'),
  },
  drugs: {
    category: words('recreational drugs|drug paraphernalia|cannabis|marijuana|cbd|thc|kratom|psychedelics?'),
    title: words(
      'cannabis|marijuana|thc|delta-?[89]|cbd|kratom|psilocybin|magic mushrooms?|lsd|cocaine|bongs?|poppers|salvia divinorum|nitrous oxide chargers?',
    ),
    doubtful: words('hemp|weed|kava|grinder for herbs?'),
  },
  weapons: {
    taxonomyIds: ['782'],
    category: words('weapons?(?: accessories)?|guns?|firearms?|ammunition|rifles?|handguns?|explosives?|switchblades?'),
    title: words(
      'firearms?|handguns?|pistols?|revolvers?|rifles?|shotguns?|ammunition|ammo|silencers?|suppressors? for guns?|switchblades?|brass knuckles?|crossbows?|tasers?|stun guns?|pepper spray|body armou?r|ar-?15|glock|grenades?|butterfly kni(?:fe|ves)|machetes?|katanas?',
    ),
    doubtful: words(
      'airsoft|paintball|bb guns?|air guns?|daggers?|swords?|hunting kni(?:fe|ves)|combat kni(?:fe|ves)|slingshots?',
    ),
  },
  crypto: {
    category: words('crypto(?:currenc(?:y|ies))?|nfts?|bitcoin|digital (?:coins|tokens)|forex'),
    title: words(
      'bitcoins?|ethereum|cryptocurrenc(?:y|ies)|crypto (?:trading|wallet|exchange|coins?|signals?|mining)|nfts?|dogecoin|token (?:sale|presale)|ico|defi|binary options',
    ),
    doubtful: words('crypto|blockchain|forex|asic miner|hardware wallet'),
  },
  'credit repair': {
    category: words('credit repair|debt (?:relief|settlement|consolidation)|payday loans?'),
    title: words(
      'credit (?:repair|restoration)|fix your credit|erase (?:bad )?credit|debt (?:relief|settlement|consolidation)|payday loans?|cash advances?|bad credit loans?|title loans?',
    ),
    doubtful: words('loans?|credit score|instant approval'),
  },
  political: {
    category: words(
      'political(?: campaigns?| merchandise| parties)?|politics|elections?|campaign (?:buttons|donations?)',
    ),
    title: words(
      'vote for|elect|re-?elect|campaign donations?|political (?:party|campaign|donation)|maga|(?:trump|biden|harris|obama|le pen|afd) \\d{4}|ballot (?:measure|initiative)',
    ),
    doubtful: words('election|democrats?|republicans?|president(?:ial)?|senator|trump|biden|protest'),
  },
  'prescription medicine': {
    category: words('prescription(?: drugs?| medicines?| medications?)?|pharmaceuticals?|rx'),
    title: words(
      'viagra|sildenafil|cialis|tadalafil|ozempic|wegovy|semaglutide|tirzepatide|mounjaro|xanax|alprazolam|valium|diazepam|adderall|ritalin|oxycodone|oxycontin|hydrocodone|tramadol|fentanyl|codeine|antibiotics?|amoxicillin|prozac|zoloft|steroids?|testosterone (?:injections?|gel|cypionate)|hgh|botox|isotretinoin|accutane|tretinoin|prescription (?:drugs?|medicines?|medications?|pills?)|no prescription|without prescription|phentermine',
    ),
    doubtful: words('pills?|prescription|hormones?|insulin|melatonin'),
  },
}

/** Words that make a thing of the trade out of it: "whisky glasses", "wine rack", "pistol grip drill". */
const BESIDE_IT = words(
  'lighters?|glass(?:es)?|tumblers?|mugs?|racks?|openers?|decanters?|stoppers?|coolers?|fridges?|chillers?|cabinets?|books?|novels?|posters?|prints?|shirts?|t-?shirts?|hoodies?|socks|costumes?|toys?|puzzles?|board games?|card games?|chess|candles?|signs?|stickers?|cases?|holders?|stones?|drills?|massag\\w+|glue|heat|nail|grease|caulk\\w*|spray(?:er)?s?|water|nerf|lego|replicas?|cleaning|grips?|barrels? furniture|games?|dvds?|films?|history|non-?alcoholic|alcohol-?free|bags?|boxes|aprons?|shoes?|vinegar|sauces?|jam|chocolates?|cakes?|yeast|cologne|perfume|detectors?|test(?:er|ing)? kits?',
)

export type PolicyVerdict = { verdict: 'rejected' | 'pending'; reason: string } | undefined

export interface JudgedWords {
  title: string
  category: string
  /** The number of the category, where the feed gives only that. */
  categoryId?: string | undefined
  headline: string
  benefit: string
  description: string
}

/** Rejected and pending with why; undefined: nothing stands against it. */
export function policyVerdictOf(judged: JudgedWords): PolicyVerdict {
  const offer = {
    categoryId: judged.categoryId,
    category: plain(judged.category),
    title: plain(judged.title),
    headline: plain(judged.headline),
    benefit: plain(judged.benefit),
    description: plain(judged.description),
  }
  // The taxonomy's department for all food has tobacco in its name.
  const path = offer.category.replaceAll(/Food, Beverages & Tobacco/gi, 'Food')
  let doubt: PolicyVerdict
  for (const topic of NEVER_ADVERTISED) {
    const { taxonomyIds = [], category, title, doubtful } = POLICIES[topic]
    if (taxonomyIds.includes(offer.categoryId ?? '')) return rejected(topic, `category ${offer.categoryId}`)
    const parts = path.split(' > ').filter((part) => category.test(part))
    const [inCategory] = parts
    const named = parts.find((part) => !isBesideIt(part))
    if (named !== undefined) return rejected(topic, `category "${named}"`)
    const inTitle = title.exec(offer.title)?.[0]
    if (inTitle !== undefined && !isBesideIt(offer.title)) return rejected(topic, `"${inTitle}" in the title`)
    const doubtfulWord = inTitle ?? inCategory ?? doubtful?.exec(offer.title)?.[0]
    if (doubtfulWord === undefined || (inTitle === undefined && isBesideIt(offer.title))) continue
    doubt ??= { verdict: 'pending', reason: `it may be ${topic}: "${doubtfulWord}"` }
  }
  return doubt ?? claimOf(offer)
}

/** "＃１" as "#1". */
function plain(text: string): string {
  return text.replaceAll(/[™℠]/g, ' ').normalize('NFKC')
}

function rejected(topic: NeverAdvertised, found: string): PolicyVerdict {
  return { verdict: 'rejected', reason: `${topic} is never advertised here (${found})` }
}

function isBesideIt(text: string): boolean {
  return BESIDE_IT.test(text)
}

/** Claims in the words that readers would see. */
const SHOWN_CLAIMS: [RegExp, string][] = [
  [words('guaranteed|money[- ]back|risk[- ]free|no risk|100 ?% (?:safe|effective|satisfaction|success)'), 'a promise'],
  [/(?<![\p{L}\p{N}])(?:#\s?1(?!\d)|n[or]\.? ?1(?!\d)|number[- ]one)/iu, 'a claim to be first'],
  [
    words("world['’]?s (?:best|first|leading|most)|best in the world|unbeatable|the only one that"),
    'a claim to be first',
  ],
  [
    words('get rich|passive income|make money|earn (?:up to )?[$€£]?\\d+\\S*|double your money|financial freedom'),
    'a promise of income',
  ],
  [
    /[$€£]\s?\d|\d\s?(?:[$€£]|(?:USD|EUR|GBP)(?![\p{L}]))|(?<!\p{L})\d{1,2}\s?% off(?!\p{L})/u,
    'a price beside that of the feed',
  ],
  [words('act now|last chance|limited time|hurry|only \\d+ left|today only'), 'pressure'],
]
/** Wherever they stand. */
const MEDICAL_CLAIMS = words(
  "cures?|curing|heals?|miracle|clinically (?:proven|tested)|medically proven|doctors? recommend(?:ed|s)?|fda[- ]approved|treats? (?:\\p{L}+ ){0,3}(?:cancer|diabetes|depression|anxiety|arthritis|adhd|autism|alzheimer['’]?s|covid|eczema|psoriasis|insomnia|pain|disease|infections?)|reverses? (?:\\p{L}+ ){0,2}(?:aging|ageing|diabetes|disease|hair loss)|prevents? (?:\\p{L}+ ){0,2}(?:cancer|disease|infections?|covid|alzheimer['’]?s)|lose \\d+ ?(?:kg|lbs?|pounds|kilos)|weight[- ]loss|burns? fat|fat[- ]burn(?:er|ing)|detox(?:ify|ifies)?|boosts? (?:your )?(?:immunity|immune system|testosterone)|lowers? (?:your )?(?:blood (?:pressure|sugar)|cholesterol)|anti-?cancer",
)

/** Food supplements must say that they cure nothing. */
const DISCLAIMER = /(?:not|n['’]t) (?:intended|meant) to [^.\n]{0,200}/giu

function claimOf({ title, headline, benefit, description }: JudgedWords): PolicyVerdict {
  const shown = `${headline}\n${benefit}`
  // Readers see one line: "headline: benefit".
  const doubt = copyDoubtOf(`${headline}: ${benefit}`)
  if (doubt !== undefined) return { verdict: 'pending', reason: doubt }
  for (const [pattern, what] of SHOWN_CLAIMS) {
    const found = pattern.exec(shown)?.[0]
    if (found !== undefined) return { verdict: 'pending', reason: `it makes ${what}: "${found}"` }
  }
  const said = `${title}\n${shown}\n${description}`.replaceAll(DISCLAIMER, '')
  const medical = MEDICAL_CLAIMS.exec(said)?.[0]
  return medical === undefined ? undefined : { verdict: 'pending', reason: `it makes a medical claim: "${medical}"` }
}
