import { parse } from 'tldts'

/**
 * The claims that a grant of trial credit uses up; each is good for one grant. Addresses and names cost nothing, but a
 * domain has to be bought and a mailbox to be opened. So the claims are the domain that somebody pays for, of the site and
 * of the address, or the mailbox where millions share a domain. `siteDomain` is null where the name was given to the publisher.
 */
export function trialClaimsOf(email: string, siteDomain: string | null): string[] {
  const address = email.normalize('NFKC').toLowerCase()
  const [local = '', host = ''] = address.split('@')
  const sender = MAILBOX_PROVIDERS.has(host) ? mailboxOf(local, host) : registrableDomainOf(host)
  // The address as it is, too: grants from before were remembered by it.
  return [...new Set([address, sender, ...(siteDomain === null ? [] : [registrableDomainOf(siteDomain)])])]
}

/** For a name under a shared suffix such as github.io, returns the provider's own: names below it are free. */
function registrableDomainOf(host: string): string {
  return parse(host, { allowPrivateDomains: false }).domain ?? host
}

/** One spelling of the many that reach the same mailbox. */
function mailboxOf(local: string, host: string): string {
  const provider = ALIASES[host] ?? host
  const name = local.replace(/\+.*/, '').replace(provider.startsWith('yahoo.') ? /-.*/ : '', '')
  const plain = DOTS_IGNORED.has(provider) ? name.replaceAll('.', '') : name
  return `${plain || local}@${provider}`
}

/** Other names of the same provider: whoever has the mailbox has it under all of them. */
const ALIASES: Record<string, string> = {
  'googlemail.com': 'gmail.com',
  'protonmail.com': 'proton.me',
  'pm.me': 'proton.me',
  'me.com': 'icloud.com',
  'mac.com': 'icloud.com',
  'ya.ru': 'yandex.ru',
  'yandex.com': 'yandex.ru',
}

const DOTS_IGNORED = new Set(['gmail.com', 'proton.me'])

/**
 * Providers where everybody gets a mailbox for nothing. Exact names: anything wider would let somebody register a domain that looks
 * like one and make addresses under it. A provider that is missing here counts as one company, and so gets one grant.
 */
const MAILBOX_PROVIDERS = new Set(
  `gmail.com googlemail.com outlook.com outlook.de outlook.fr outlook.es outlook.it outlook.jp hotmail.com hotmail.co.uk
  hotmail.de hotmail.es hotmail.fr hotmail.it live.com live.co.uk live.de live.fr live.it live.nl msn.com windowslive.com
  yahoo.com yahoo.ca yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.mx yahoo.de
  yahoo.es yahoo.fr yahoo.in yahoo.it ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me protonmail.com
  pm.me gmx.at gmx.ch gmx.com gmx.de gmx.net web.de t-online.de freenet.de mail.com email.com fastmail.com fastmail.fm
  hey.com tutanota.com tuta.com tuta.io zoho.com yandex.com yandex.ru ya.ru mail.ru bk.ru inbox.ru list.ru rambler.ru
  qq.com foxmail.com 163.com 126.com yeah.net sina.com sohu.com naver.com daum.net hanmail.net nate.com rediffmail.com
  orange.fr wanadoo.fr free.fr laposte.net sfr.fr libero.it virgilio.it tiscali.it wp.pl o2.pl onet.pl interia.pl
  seznam.cz centrum.cz uol.com.br bol.com.br terra.com.br ig.com.br bigpond.com comcast.net verizon.net att.net
  btinternet.com sky.com virginmedia.com bluewin.ch ziggo.nl telenet.be`.split(/\s+/),
)
