/** Scripts that run inside the page that a picture is taken of. */
import { NOW } from './replies/ids.ts'

/** Waits of this length are for people, or ask the server again; everything shorter is part of drawing a page. */
const HELD_FROM_MS = 1_000

/** Runs in the page before anything else. */
export const HOLD_TIMERS = `
  if (location.protocol === 'http:') localStorage.clear()
  // Timers run as ever. A clock that is made for tests would take their place, and that of the browser's idle moments.
  window.Date = new Proxy(Date, {
    construct: (made, args, target) => Reflect.construct(made, args.length > 0 ? args : [${NOW.getTime()}], target),
    get: (made, name) => (name === 'now' ? () => ${NOW.getTime()} : Reflect.get(made, name)),
  })
  // All pages of a browser share one clipboard.
  if (navigator.clipboard) navigator.clipboard.writeText = async (text) => { window.parleyCopied = text }
  const held = new Map(), brief = new Set()
  const { setTimeout: later, setInterval: often, clearTimeout: drop, clearInterval: stop } = window
  let last = 1e6
  const hold = (kind, run, ms, args) => {
    held.set(last += 1, { kind, ms, run: () => run(...args) })
    return last
  }
  window.setTimeout = (run, ms = 0, ...args) => {
    if (ms >= ${HELD_FROM_MS}) return hold('timeout', run, ms, args)
    const id = later(() => { brief.delete(id); run(...args) }, ms)
    brief.add(id)
    return id
  }
  window.setInterval = (run, ms = 0, ...args) =>
    ms >= ${HELD_FROM_MS} ? hold('interval', run, ms, args) : often(run, ms, ...args)
  window.clearTimeout = (id) => { brief.delete(id); held.delete(id) || drop(id) }
  window.clearInterval = (id) => { held.delete(id) || stop(id) }
  let changes = 0
  const look = () => new MutationObserver(() => { changes += 1 })
    .observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  look()
  window.parleyTimers = {
    state: () => ({
      signature: location.href + ' ' + changes,
      isBusy: brief.size > 0 || document.querySelector('h1, h2') === null,
      isLoading: document.querySelector('main .skeleton, [aria-busy=true]') !== null,
    }),
    intervals: () => [...new Set([...held.values()].filter(({ kind }) => kind === 'interval').map(({ ms }) => ms))],
    pass: (ms) => {
      for (const [id, { kind, ms: each, run }] of [...held])
        if (each === ms) { if (kind === 'timeout') held.delete(id); run() }
    },
    idle: () => new Promise((done) => requestIdleCallback(() => later(() => done(window.parleyTimers.state()), 10), { timeout: 1_000 })),
  }
`

/** Everything with a meaning that the accessibility tree leaves out. Runs in the page. */
export const DETAILS = `(() => {
  const shown = (element) => element.checkVisibility({ visibilityProperty: true })
  const textOf = (element) => (element.getAttribute('aria-label') ?? element.textContent).trim().replaceAll(/\\s+/g, ' ').slice(0, 120)
  const sidebar = document.querySelector('aside:has(nav)')
  const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => shown(each) && !sidebar?.contains(each))
  const labelOf = (field) => field.getAttribute('aria-label') ?? textOf(field.labels?.[0] ?? field)
  const tonesOf = (element) => [...new Set([...element.classList].map((name) => /^(?:bg|text|border)-(good|bad|warn|earn|accent)(?:-soft|-fill|-text)?$/.exec(name)?.[1]).filter(Boolean))]
  const numbers = (text) => text.replaceAll(/\\d+(?:\\.\\d+)?/g, (number) => Math.round(number))
  return {
    titles: all('[title]').filter((each) => each.title !== each.getAttribute('aria-label')).map((each) => textOf(each) + ' = ' + each.title.replaceAll('\\n', ' / ')),
    tones: all('*').filter((each) => !each.closest('svg') && tonesOf(each).length > 0 && textOf(each) !== '').map((each) => tonesOf(each).join(' ') + ': ' + textOf(each)),
    icons: all('svg.lucide').map((each) => each.classList[1].replace('lucide-', '') + ': ' + textOf(each.closest('button, a, span, li, p, div'))),
    fields: all('input, select, textarea').map((each) => [labelOf(each), ...['type', 'autocomplete', 'inputmode', 'maxlength', 'min', 'max', 'step', 'required'].map((name) => each.hasAttribute(name) && name + '=' + each.getAttribute(name)), document.activeElement === each && 'focused'].filter(Boolean).join(' ')),
    links: all('a[download], a[target], a[aria-current]').map((each) => textOf(each) + ' ' + ['download', 'target', 'rel', 'aria-current'].filter((name) => each.hasAttribute(name)).map((name) => name + '=' + each.getAttribute(name)).join(' ')),
    lengths: all('main [style]').filter((each) => !each.closest('svg, .recharts-responsive-container, .recharts-wrapper') && each.style.position !== 'fixed').map((each) => each.style.cssText + ' in ' + textOf(each.closest('li, tr, figure, p') ?? each)),
    charts: all('figure').filter((each) => each.querySelector('svg.recharts-surface')).map((figure) => [
      figure.getAttribute('aria-label'),
      // The font decides which of the others have room.
      'up to ' + [...figure.querySelectorAll('.recharts-xAxis-tick-labels text')].at(-1)?.textContent,
      [...figure.querySelectorAll('.recharts-yAxis-tick-labels text')].map((tick) => tick.textContent).join(' | '),
      ...[...figure.querySelectorAll('.recharts-bar')].map((bar) => [...bar.querySelectorAll('path')].map((path) => path.getAttribute('fill') + ' ' + numbers(path.getAttribute('height') + ' at ' + path.getAttribute('y'))).join(' | ')),
      ...[...figure.querySelectorAll('.recharts-line-curve, .recharts-area-curve')].map((path) => path.getAttribute('stroke') + ' ' + numbers(path.getAttribute('d'))),
    ].join('\\n    ')),
  }
})()`
