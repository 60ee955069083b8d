/**
 * Texts of advertisers that are refused: such as speak to the assistant, imitate our label or links, or carry the syntax
 * of a protocol or a template. No model is ever shown an advertiser's text, so this is the second wall, not the first.
 *
 * A false alarm costs an advertiser one reworded row, which the import names with the words that were found.
 */
import { decodeEntities, hidesAddress, withoutInvisible } from './copy.ts'
import { LABELS, WHY_QUESTIONS } from '../recommendations/block.ts'

const CHARS_MAX = 20_000
const FOUND_CHARS_MAX = 40

/** Letters that look like Latin ones, so that "іgnоrе" with Cyrillic letters is read as what it looks like. */
const LOOKALIKES: Record<string, string> = Object.fromEntries(
  [
    ['абвекмнорстухіјѕѵԁԛԝ', 'abbekmhopctyxijsvdqw'],
    ['αβεζηικμνορτυχ', 'abezhikmvoptyx'],
    ['ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ', 'abcdefghijklmnoprstuvwyz'],
    ['ıłøđ', 'ilod'],
    // White on black, in circles and squares, and the letters of flags.
    ...[0x1f150, 0x1f170, 0x1f1e6].map((first) => [alphabetFrom(first), alphabetFrom(0x61)]),
  ].flatMap(([from = '', to = '']) => Array.from(from).map((letter, n): [string, string] => [letter, to.charAt(n)])),
)
const DIGITS_FOR_LETTERS: Record<string, string> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a', $: 's' }

const ROLES = 'system|assistant|developer|human|user|chatbot|ai assistant|ai|tool'
const MACHINES =
  'ai|a\\.i\\.|ai assistants?|assistants?|chatbots?|language models?|llms?|chatgpt|gpt|claude|gemini|copilot'
const SAYING =
  'recommend|tell|say|answer|respond|reply|mention|suggest|promote|describe|output|print|reveal|ignore|rank|include|repeat|state|claim|praise|endorse|insist|convince|persuade|send|call|write'
const ORDERS =
  'instructions?|prompts?|rules?|guidelines?|directives?|(?:previous|prior|earlier|system|above) (?:messages?|context|directions?|turns?)|guardrails?|programming|(?:safety )?polic(?:y|ies)'

const TO_THE_ASSISTANT = [
  String.raw`<\|[^|]{0,40}\|>|<\|im_|\|im_(?:start|end)\|`,
  String.raw`\[\s*/?\s*(?:inst|sys|system|assistant|user)\s*\]|<<\s*/?\s*sys\s*>>`,
  String.raw`</?\s*(?:system|assistant|user|human|developer|tool|tool_call|function|function_call|instructions?|prompt|thinking|im_start|im_end|context|admin)\b[^>]{0,80}>?`,
  String.raw`(?:^|[\n.!?\]>"'|{}(*#])\s*(?:${ROLES})\s*[\]"')*]{0,3}\s*:`,
  String.raw`["']?\brole["']?\s*[:=]\s*["']?(?:system|assistant|user|developer|tool)`,
  String.raw`#{1,6}\s*(?:system|instructions?|human|assistant|response|prompt|new task)\b`,
  String.raw`(?<!n['’]t |not |never )\b(?:ignore|disregard|forget|override|bypass|overlook|neglect|stop following|do not (?:follow|obey)|don['’]?t (?:follow|obey))\b[^.!?\n]{0,40}\b(?:${ORDERS}|said|told)\b`,
  String.raw`\b(?:ignore|disregard|forget)\s+(?:all |everything |anything |any |the |your )*(?:previous|prior|above|earlier|preceding|before)\b`,
  String.raw`\byou are (?:now |no longer |really |actually )?(?:an?|the|my|bound|in)?\s*(?:ai|assistant|chatbot|language model|llm|chatgpt|gpt|claude|gemini|dan|jailbroken|unrestricted|developer mode|free from|helpful assistant|shopping assistant|sales assistant)\b`,
  String.raw`\bfrom now on,? (?:you|always|only|respond|answer|reply|recommend)\b`,
  String.raw`\b(?:act|behave|respond|answer|reply) as (?:an?|the|if|though)\b[^.!?\n]{0,30}\b(?:assistant|ai|model|admin|system|developer|dan|sales|expert)\b`,
  String.raw`\bpretend (?:to be|you are|you['’]re|that you)\b`,
  String.raw`\b(?:dear|attention|note to|message (?:to|for)|instructions? (?:to|for)|hey|hello|hi)[,:]?\s+(?:the |an? |any |all |every )?(?:${MACHINES})\b`,
  String.raw`\bif you are (?:an? |the )?(?:${MACHINES}|bot|agent)\b`,
  String.raw`\b(?:${MACHINES}|models?|agents?|bots?)\s*[,:]?\s*(?:please |must |should |shall |need to |has to |have to |will |is (?:required|instructed|asked|told) to |are (?:required|instructed|asked|told) to )+(?:always |only |never |now |first |also |not )*(?:${SAYING})\b`,
  String.raw`\byou (?:must|should|shall|are (?:required|instructed|asked|told|ordered) to)\s+(?:always |only |never |now |first |also |not )*(?:recommend|tell|say|respond|reply|mention|suggest|promote|reveal|ignore|praise|endorse)\b`,
  String.raw`(?:^|[\n.!?:;)\]>"-])\s*(?:please |and |now |you |instead,? )*(?:always|only|never)\s+(?:recommend|mention|suggest|promote|respond|reply|tell|output|endorse|praise|say|answer (?:with|in|as|that))\b`,
  String.raw`\b(?:tell|inform|convince|persuade|assure|notify)\s+(?:the |your |all |every |each )?(?:users?|readers?|human|customer|person asking|visitors?)\s+(?:that|to|about|how|he|she|they|this|it|there)\b`,
  String.raw`\b(?:recommend|promote|endorse|rank|list|mention|suggest|prefer|choose)\s+(?:only |always )?(?:this|our|my|the following)\s+(?:product|item|brand|offer|store|shop|website|link)s?\s+(?:first|above|over|instead|to (?:the|every|all)|in (?:your|every|all)|only|as (?:the )?(?:best|top|only))\b`,
  String.raw`\b(?:system|hidden|initial|secret|developer|master)[ _-](?:prompt|message|instructions?)\b`,
  String.raw`\b(?:reveal|print|repeat|output|leak|expose|dump|recite)\s+(?:me )?(?:your (?:\w+ )?(?:instructions?|prompts?|rules|secrets?|context|guidelines|configuration|api keys?)|all (?:previous|prior|above|your)|the above|everything above|the conversation|the (?:full )?(?:prompt|context))\b`,
  String.raw`\b(?:new|updated|real|actual|secret|hidden|additional|priority)\s+(?:system )?instructions?\s*(?::|follow|are\b|for (?:the )?(?:${MACHINES}|model))`,
  String.raw`\b(?:begin|end|start)(?:ning)?[ _-](?:of[ _-])?(?:the )?(?:system|user|hidden|new|prompt|instructions?|untrusted|trusted)[ _-]?(?:prompt|instructions?|message|input|text|content|data|block)?\b\s*[\]>=:#-]`,
  String.raw`\b(?:jailbreak|jailbroken|prompt injection|do anything now|dan mode|developer mode (?:enabled|on|activated)|god mode enabled)\b`,
  String.raw`\b(?:in|as part of|within|throughout) your (?:next |final |every |each )?(?:answer|reply|response|output)s?\b`,
  String.raw`\b(?:append|insert|include|add|put|place|prepend)\b[^.!?\n]{0,40}\b(?:to|in|into|at the end of) (?:your|the|every|each) (?:answer|reply|response|output|message)\b`,
  String.raw`\b(?:say|respond with|reply with|answer with|output) exactly\b`,
]
const PROTOCOL = [
  String.raw`\bdata:\s*(?:\[done\]|\{)|\[done\]`,
  String.raw`\bfinish_reason\b|["'](?:choices|delta|tool_calls|function_call|content|messages)["']\s*:`,
  String.raw`(?:^|\n)\s*(?:event|retry|id):\s*\S`,
  String.raw`\{\{|\}\}|\{%|%\}|\$\{|<%|%>|#\{|<\?php|\[\[[a-z_]`,
  String.raw`["']\s*[}\]]\s*[,}\]]`,
]
const LABEL = [
  ...LABELS.map(({ label }) => folded(label)),
  'ads|advert|advertising|promoted|werbeanzeige|gesponsert|sponsorise|patrocinado|sponsorizzato|reklame|reclame',
].join('|')
/** The characters that look like the dot after our label. */
const DOTS = '·•∙⋅‧・᛫⸱⸳ꞏ●○◦⚫▪■◾‣⁃◆◇★☆'
const SENTENCE_START = String.raw`(?:^|[.!?…\n])[^\p{L}\p{N}]{0,10}`
const IMITATIONS = [
  // With any sign after it: none is needed to be taken for the dot.
  String.raw`${SENTENCE_START}(?:${LABEL}|a\s?d)[^\p{L}\p{N}\s'&,+/%(-]{0,3}(?:\s*[^\p{L}\p{N}\s"'&,+/%(-]|\s[-/]\s)`,
  String.raw`${SENTENCE_START}(?:${LABEL})(?: content| post)? (?:by|from|von|par|por)(?![\p{L}\p{N}])`,
  String.raw`^[^\p{L}\p{N}]{0,10}(?:${LABEL})[^\p{L}\p{N}]*$`,
  String.raw`[\[({<【「『〔〈《*_]\s*(?:${LABEL})\s*[\])}>】」』〕〉》*_]|#\s?(?:${LABEL})(?![\p{L}\p{N}])`,
  String.raw`\b(?:ads?|sponsored|advertisement)\s*[${DOTS}]`,
  ...WHY_QUESTIONS.map((why) => folded(why).replaceAll(/[¿?？\s]+$|^[¿\s]+/gu, '')),
  String.raw`\[\s*see offer\s*\]`,
  String.raw`/[rw]/[a-z0-9_-]{3,}`,
]
/** "acme dot com", "acme[.]com", "acme·com", "www acme com" */
const SPELLED_ADDRESS = new RegExp(
  String.raw`(?:\s?[${DOTS}]\s?|,|\s?\p{Ps}\s?(?:\.|dot|punkt|point|punto)\s?\p{Pe}\s?|\s(?:dot|punkt|point|punto|\.)\s)(?:com|net|org|shop|info|biz|xyz)(?![\p{L}\p{N}])|\b(?:www\s[\p{L}\p{N}]|hxxps?)`,
  'u',
)

/** For folded text, which is in lower case: flags that fold it again would cost most of the time. */
const anyOf = (patterns: readonly string[], flags = '') =>
  new RegExp(patterns.map((pattern) => `(?:${pattern})`).join('|'), flags)
const ASSISTANT = anyOf(TO_THE_ASSISTANT)
const SYNTAX = anyOf(PROTOCOL)
const IMITATION = anyOf(IMITATIONS, 'u')

const WORD = /[\p{L}\p{N}]+/gu
const LATIN = /\p{Script=Latin}/u
const LATIN_LOOKALIKE = /[\p{Script=Cyrillic}\p{Script=Cherokee}\p{Script=Armenian}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοι]/u

/** Why a text may not be used, as the rest of a sentence; undefined: it may. */
export function copyProblemOf(raw: string): string | undefined {
  if (raw === '') return undefined
  const text = raw.slice(0, CHARS_MAX)
  for (const reading of readingsOf(text)) {
    const toAssistant = ASSISTANT.exec(reading)
    if (toAssistant) return `it speaks to an assistant, not to a reader (${excerpt(toAssistant[0])})`
    const syntax = SYNTAX.exec(reading)
    if (syntax) return `it holds the syntax of a program (${excerpt(syntax[0])})`
    const imitation = IMITATION.exec(reading)
    if (imitation) return `it imitates the label or the links of a recommendation (${excerpt(imitation[0])})`
    const spelled = SPELLED_ADDRESS.exec(reading)
    if (spelled) return `it spells out an address (${excerpt(spelled[0])})`
  }
  if (hidesAddress(text)) return 'it hides an address or a telephone number in unusual characters'
  const mixed = /[^\0-\x7f]/.test(text) ? mixedWordIn(withoutInvisible(decodeEntities(text))) : undefined
  return mixed === undefined ? undefined : `it mixes alphabets in one word (${excerpt(mixed)})`
}

/** One of Latin letters and of letters that only look like them. Units and formulas (µm, kΩ, β) are none. */
function mixedWordIn(text: string): string | undefined {
  for (const [word] of text.matchAll(WORD)) if (LATIN.test(word) && LATIN_LOOKALIKE.test(word)) return word
  return undefined
}

function alphabetFrom(first: number): string {
  return String.fromCodePoint(...Array.from({ length: 26 }, (_, n) => first + n))
}

/** The ways in which somebody may read a text: as it looks, with its tags taken away, and with its disguises undone. */
export function readingsOf(text: string): Set<string> {
  const decoded = decodeEntities(decodeEntities(text))
  const plain = folded(decoded)
  const readings = new Set([plain, folded(decoded.replaceAll(/<[^<>]{0,200}>/g, ''))])
  if (/%[0-9a-f]{2}/i.test(plain)) readings.add(percentDecoded(plain))
  if (/\\[nrtu"]/.test(plain)) readings.add(plain.replaceAll(/\\[nr]/g, '\n').replaceAll(/\\["t]/g, ' '))
  // "1gn0re", but not "4k".
  if (/\p{L}[01345@$7]+\p{L}/u.test(plain) || /(?<![\p{L}\p{N}])[01345@$7]\p{L}{2}/u.test(plain)) {
    readings.add(plain.replaceAll(/[01345@$7]/g, (digit) => DIGITS_FOR_LETTERS[digit] ?? digit))
  }
  // "i g n o r e", "i.g.n.o.r.e"
  if (/(?:(?<![\p{L}\p{N}])\p{L}[ ._*-]){4,}/u.test(plain)) {
    readings.add(plain.replaceAll(/(?<=(?<![\p{L}\p{N}])\p{L})[ ._*-](?=\p{L}(?![\p{L}\p{N}]))/gu, ''))
    readings.add(plain.replaceAll(/(?<=\p{L})[._*-](?=\p{L})/gu, ''))
  }
  // "ig*no*re", "ig_nore"
  if (/\p{L}[*_~`]+\p{L}/u.test(plain)) readings.add(plain.replaceAll(/(?<=\p{L})[*_~`]+(?=\p{L})/gu, ''))
  return readings
}

/** As it looks: one kind of letter, lower case, no marks. Line breaks stay, because a role may begin a line. */
function folded(text: string): string {
  return text
    .replaceAll(/[™®©℠]/g, ' ')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[\n\r\u0085\u2028\u2029\v\f]+/u)
    .map((line) => withoutInvisible(line).trim())
    .join('\n')
    .replaceAll(
      /[а-яіјѕѵԁԛԝα-ωᴀ-ᴢꜰꜱʀɢʜɪʟɴʏʙıłøđ\u{1f150}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/gu,
      (letter) => LOOKALIKES[letter] ?? letter,
    )
}

function percentDecoded(text: string): string {
  return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Quotes what was found, for the advertiser to find it too, without control characters: it is shown on a terminal. */
export function excerpt(found: string): string {
  const line = found.replaceAll(/[\s\p{C}]+/gu, ' ').trim()
  return `"${line.length <= FOUND_CHARS_MAX ? line : `${line.slice(0, FOUND_CHARS_MAX).trimEnd()}…`}"`
}
