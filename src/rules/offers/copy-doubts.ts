/**
 * Words that may make a reader forget that an advertisement is one: that speak of advertising (mostly to deny it), claim
 * the word of somebody whom the reader trusts here (Parley, the assistant, the publisher), or sound as if the answer went
 * on. Whether they do is for a person to say: "no ads" may be what a music player has, "Keine Werbung" a sticker for a
 * letter box. Products seldom need such words: of 28,000 titles with their first sentence, one in 500 has any.
 *
 * In several languages: only longer texts are recognised as not English and refused for it.
 */
import { excerpt, readingsOf } from './copy-problems.ts'

const GAP = "[^\\p{L}\\p{N}']+(?:[\\p{L}\\p{N}']+[^\\p{L}\\p{N}']+){0,4}?"

/** For folded text: lower case, no accents. A blank stands for whatever is between two words, a `~` for up to four words. */
const wordsLike = (patterns: readonly string[]) =>
  new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${patterns.join('|')})(?![\\p{L}\\p{N}])`
      .replaceAll('~', GAP)
      .replaceAll(' ', "[^\\p{L}\\p{N}']+"),
    'u',
  )

const ADVICE =
  'recommendations?|advice|tips?|opinions?|suggestions?|answers?|picks?|choices?|reviews?|content|results?|empfehlung\\w*|rat|meinung|tipp\\w*|beratung|antwort|wahl|conseils?|avis|choix|reponse|recommandations?|recomendacion\\w*|consejos?|opinion\\w*|respuesta|eleccion|favou?rit\\w*|verdict'
const NEGATION =
  "not|isn't|wasn't|ain't|no|non|never|kein\\w*|nicht|ohne|statt|pas|sans|aucune?|rien|ni|sin|ningun\\w*|nunca|nao|sem|geen|niet|nie|bez|inte|ingen|senza"

const ADVERTISING = wordsLike([
  'ads?(?!-)|adverts?|advertis\\w*|advertorials?|sponsor\\w*|unsponsored|promoted|unpaid|paid (?:placement|content|promotion|post|for this)',
  `(?:ad-free|friend's) (?:${ADVICE})`,
  'werbung|werbe\\w*|geworben|beworben|reklam\\w*|gesponser\\w*|unbezahlt\\w*|publicites?|(?:une|la) pub|reclames?|non remunere\\w*|publicidad\\w*|patrocin\\w*|promocionad\\w*|pubblicita\\w*|advertenties?|annons\\w*',
  // These are also displays and notice boards.
  `(?:${NEGATION})~(?:anzeigen?|annonces?|anuncios?|annunci\\w*)`,
  '(?:nobody|no one|noone|niemand|personne|nadie|nessuno)~(?:paid|pays|paying|bezahlt\\w*|zahlt\\w*|paye\\w*|paga\\w*|pago)',
  '(?:not|never|nicht|pas|no)~(?:paid|bought|selling|compensated|bezahlt|payes?|pagad[oa]s?)|no cobramos|(?:no|not one|not a|keine?n?|aucune?|ningun\\w*) (?:money|cents?|commissions?|geld|provision|argent|dinero|comision)',
  "(?:the|this|that|das|dieses|l'|la|el) (?:labels?|tags?|etikett|etiquette|etiqueta)|(?:word|sign|mark|note) (?:above|before|in front)",
  `(?:independent|impartial|unbiased|neutral|objective|editorial|organic|genuine|honest|unabhangig\\w*|ehrlich\\w*|neutrale\\w*|redaktionell\\w*)(?: \\p{L}+)? (?:${ADVICE})`,
  `(?:${ADVICE}) (?:independant|independiente|impartial\\w*|imparcial\\w*|neutre|neutral|sincere|sincer[oa]|honnete|honest[oa]|objectif|objetiv[oa])`,
  'impartial(?:ly)?|unbiased|editorial|redaktionell\\w*|redactionnel\\w*',
  '(?:no|not|kein\\w*|pas|sin|sans|nada de)~(?:marketing|promotional|promotion|pitch|hype)',
])
/** Scripts that put no blanks between words. */
const ADVERTISING_UNDIVIDED = /広告|广告|廣告/u

const MACHINES =
  "(?:l'|d')?(?:ai|ki|ia|assistant\\w*|assistent\\w*|asistentes?|chatbots?|bots?|llms?|gpt\\w*|claude|gemini|copilot)"
const HOSTS =
  'editors?|editorial (?:team|staff)|redaktion\\w*|redaction|redaccion|redazione|redactie|publishers?|herausgeber\\w*|(?:the|your|our) (?:site|website|page|platform|portal|chat|newspaper|operator)|(?:notre|unsere|nuestr[oa]) (?:site|seite|sitio|web|website)|der (?:seite|app)|newsroom|(?:our|the) readers'
const BACKING =
  'verif\\w+|approv\\w+|aprob\\w+|approuv\\w+|valide\\w*|avalad\\w*|recommend\\w*|recommand\\w*|recomend\\w*|recomiend\\w*|raccomand\\w*|consigliat\\w*|conseil\\w*|empfohlen|empfiehlt|empfehl\\w*|rat|aanbevolen|endors\\w*|certif\\w*|zertifizier\\w*|tested|getestet|testee?s?|probad[oa]s?|gepruft\\w*|pruft|selected|selects|seleccionad\\w*|selectionne\\w*|choose|chooses|chose|chosen|choice|choix|choisi\\w*|elegid[oa]s?|elige|ausgewahlt\\w*|wahlt|pick|picks|picked|trust|trusts|trusted|vetted|backed|backs|prefer\\w*|curated|suggest\\w*|favou?rites?|partners?|seal|tipp|says?|thinks?|would|loves?|likes?'

const ENDORSEMENTS = wordsLike([
  'parley|chatgpt|openai',
  "(?:the|your|our|this|my|by|from|der|die|dein\\w*|ihr\\w*|unser\\w*|vom|votre|notre|ton|el|la|tu|su|nuestr[oa]) (?:own )?(?:ai|ki|ia|assistants?|assistent\\w*|asistente|chatbots?|bots?|language model)|l'(?:assistant|ia)",
  '(?:this|diese\\w?|ce|cette|est[ea]|quest[oa]|deze) (?:apps?|appli|application|site|website|webseite|seite|page|pagina|web|sitio|sito|chats?|line|message|reply|platform|portals?|article|story|inhalt|artikel|contenido|articulo)',
  `(?:${BACKING})~(?:${MACHINES}|${HOSTS})`,
  `(?:${MACHINES}|${HOSTS})(?:'s)?~(?:${BACKING})`,
  '(?:redaktions|ki)(?:tipp|empfehlung|auswahl|wahl)\\w*',
])

const VOICES = wordsLike([
  "i'(?:d|m|ve|ll)|i (?:am|would|will|have|do|can|was|personally|really|also|highly|like|think|know|recommend|suggest|prefer|use|trust|buy|bought|go|keep|own|choose|chose|pick|believe|find|found|tried|tested?|swear|say|said|tell|told|mentioned|wrote|meant|advise)",
  "(?:personally|honestly) i|(?:we|we'd)(?: (?:would|also|really|highly|strongly))* (?:recommend|suggest|advise|endorse|think|both)",
  `(?:my|mein\\w*|mon|ma|mi)(?: \\p{L}+)? (?:${ADVICE})|in my (?:view|experience)`,
  'if you ask me|(?:trust|believe) me|take my word|let me (?:recommend|suggest|tell|show)',
  'ich|je|yo|wir (?:empfehlen|raten)|nous (?:vous )?(?:recommandons|conseillons|suggerons)',
  'recomiendo|recomendamos|aconsejo|aconsejamos|sugiero|sugerimos|prefiero',
  "(?:as|als|en tant qu'|como|come)(?: (?:an?|the|your|dein|ihr|une?))? (?:ai|ki|ia|assistant|assistent|asistente|language model)",
  "as (?:we|you|i) \\p{L}+ed|you(?: have|'ve)? (?:asked|said|told|mentioned|wrote)|as (?:mentioned|discussed|requested|noted|stated|said|promised)",
  'wie (?:besprochen|erwahnt|gewunscht|gesagt|angefragt|oben)|gefragt|comme (?:convenu|mentionne|demande|discute|dit)|vous avez demande|como (?:hablamos|pediste|dijiste|comentamos|acordamos|mencione|pidio)|preguntaste',
  '(?:this|the|your|our|last)(?: \\p{L}+)? (?:conversations?|questions?|query|prompt|chat|message)',
  '(?:ihre|ihrer|deine|deiner|unser|unserem|diese|dieser) (?:frage|anfrage|gesprach\\w*|unterhaltung|nachricht)',
  '(?:votre|ta|notre|cette) (?:question|conversation|discussion|demande)|(?:tu|su|nuestra|esta) (?:pregunta|consulta|conversacion|charla|peticion)',
  'the(?: \\p{L}+)? answer (?:is|to (?:your|this|that)|above)|the answer(?! to)|(?:my|your|this|our|right|correct|final) answer|die antwort|antwort oben|la (?:reponse|respuesta)|by the way|one more thing',
  'in (?:conclusion|summary)|to sum up|bottom line|hope (?:this|that|it) helps|correction:|tl dr|tldr',
  '(?:answer|reply|response|text|line|message|list|points?|options?) (?:above|before)|ci-dessus|(?:previous|preceding) (?:answer|reply|response)',
])

const DOUBTS: readonly [RegExp, string][] = [
  [ENDORSEMENTS, 'it may speak for someone readers trust'],
  [ADVERTISING, 'it speaks of advertising, maybe to deny that it is'],
  [ADVERTISING_UNDIVIDED, 'it speaks of advertising, maybe to deny that it is'],
  [VOICES, 'it may sound as if the answer continued'],
  [/(?![0-9])\p{Nd}/u, 'it has digits of another script'],
  [/(?:(?<![\p{L}\p{N}])\p{L}[ ._*-]){4,}/u, 'it is spelled letter by letter'],
]

/** Why a person has to look at these words before a reader does; undefined: nothing is in doubt. */
export function copyDoubtOf(text: string): string | undefined {
  for (const reading of readingsOf(text)) {
    const read = reading.replaceAll(/[’‘ʼ´`]/g, "'")
    for (const [pattern, what] of DOUBTS) {
      const found = pattern.exec(read)?.[0]
      if (found !== undefined) return `${what}: ${excerpt(found)}`
    }
  }
  return undefined
}
