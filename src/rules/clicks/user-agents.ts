import { isCrawler } from './crawlers.ts'

/** The kind of program that a request says it was sent by. `none`: neither a known program nor a browser. */
export type Sender = 'agent' | 'previewer' | 'bot' | 'library' | 'browser' | 'none'

/** The longest of browsers inside of apps have about 500. Also the most that expressions of others are tried on. */
const CHARACTERS_MAX = 1_000

/** Agents that say so: programs that open pages because a person asked them to. Most are called NAME-User. */
const AGENT =
  /[a-z]-User\/\d|\bPerplexityUser\b|\bChatGPT[ -]Agent\b|\bOperator\/\d|\bGoogle-?Agent\b|\bGemini-Deep-Research\b|\bGoogle-NotebookLM\b|\bGoogle-Gemini-CLI\b|\bmeta-externalfetcher\b|\bAgentCore-Browser\b|\bAmazonBuyForMe\b|\bNovaAct\b|\bClaude-Code\/|\bDevin\/|\bDuckAssistBot\b/i

/** By its beginning where an app has a browser as well, whose user agent ends with the same name. */
const PREVIEWER =
  /^(?:WhatsApp|Viber|Tumblr|Bluesky|Notion|Signal)(?:\/|$)|facebookexternalhit|meta-externalhit|facebookcatalog|Facebot|Twitterbot|Slackbot|Slack-ImgProxy|Discordbot|TelegramBot|LinkedInBot|redditbot|kakaotalk-scrap|line-poker|vkShare|Embedly|Iframely|Bluesky Cardyb|\bMastodon\/|gotosocial|\bPleroma\b|\bMisskey\/|\bSynapse\b|Mattermost-Bot|Rocket\.Chat|Discourse Forum Onebox|NotionEmbedder|(?:URI|URL|Web|Link|Bing|Microsoft|Bluesky) ?-?Preview|unfurl/i

/** Named by lists of bots as well, and called what they are: somebody's script, which says nothing else of itself. */
const LIBRARY =
  /^(?:curl|libcurl(?:-agent)?|wget2?|python(?:-requests|-urllib\d?|-httpx)?|aiohttp|go-http-client|okhttp|java(?:-http-client)?|apache-httpclient|jakarta commons-httpclient|axios|node(?:-fetch|-superagent|\.js)?|undici|got|deno|bun|dart|flutter|libwww-perl|lwp(?:-trivial|::simple)?|ruby|faraday|typhoeus|php|guzzlehttp|symfony httpclient|postmanruntime|insomnia|httpie|xh|reqwest|hyper|ureq|restsharp|ktor(?:-client)?|unityplayer|cpp-httplib|hackney|aria2|lavf|dalvik|winhttp|mozilla\/\d\.\d \([^)]*\) (?:windows)?powershell)(?:[/\s]|$)|\bCFNetwork\/|\bAlamofire\/|\bUnityWebRequest\b/i

/** Browsers that do not begin as the others do: of terminals, which blind people use too, of Emacs and of small phones. */
const OTHER_BROWSER =
  /^(?:Lynx\/|Links \(|ELinks\/|w3m\/|NetSurf\/|Mozilla\/4\.0 \(compatible; Dillo |URL\/Emacs |UCWEB\/|[\w-]+\/\S+ Profile\/MIDP-)(?!.*(?:bot|crawl|spider|http))/i

const BROWSER = /^(?:Mozilla|Opera)\/\d/

/**
 * The senders of user agents that were judged before, as most are. Emptied when full, so that odd ones cannot fill the
 * memory.
 */
const judged = new Map<string, Sender>()
const JUDGED_MAX = 2_000

export function senderOf(userAgent: string): Sender {
  if (userAgent === '' || userAgent.length > CHARACTERS_MAX) return 'none'
  const known = judged.get(userAgent)
  if (known !== undefined) return known
  const sender = judgedSenderOf(userAgent)
  if (judged.size >= JUDGED_MAX) judged.clear()
  judged.set(userAgent, sender)
  return sender
}

function judgedSenderOf(userAgent: string): Sender {
  if (AGENT.test(userAgent)) return 'agent'
  if (PREVIEWER.test(userAgent)) return 'previewer'
  if (LIBRARY.test(userAgent)) return 'library'
  if (OTHER_BROWSER.test(userAgent)) return 'browser'
  if (isCrawler(userAgent)) return 'bot'
  return BROWSER.test(userAgent) ? 'browser' : 'none'
}
