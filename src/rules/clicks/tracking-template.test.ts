import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostOfTracking, trackingTemplateProblemOf, withTracking } from './tracking-template.ts'

test('the address of an offer is one parameter of the redirect, whatever is in it', () => {
  const template = 'https://network.example/click?id=1&to={lpurl}&from=2'
  const links = [
    'https://shop.example/a?b=1&c=2#d',
    'https://shop.example/$&$1',
    'https://shop.example/{lpurl}?to=https://evil.example',
    'https://shop.example/ä ö',
  ]
  for (const link of links) {
    const { origin, pathname, searchParams } = new URL(withTracking(template, link))
    assert.equal(`${origin}${pathname}`, 'https://network.example/click')
    assert.deepEqual(
      [...searchParams],
      [
        ['id', '1'],
        ['to', link],
        ['from', '2'],
      ],
    )
  }
  assert.equal(hostOfTracking(template), 'network.example')
})

test('what is no address of a redirect is refused, with what to do', () => {
  assert.equal(trackingTemplateProblemOf('https://network.example/click?url={lpurl}'), undefined)
  assert.equal(trackingTemplateProblemOf('https://network.example?{lpurl}'), undefined)
  const refused: [string, RegExp][] = [
    ['', /exactly once/],
    ['https://network.example/click', /exactly once/],
    ['https://network.example/?a={lpurl}&b={lpurl}', /exactly once/],
    ['{lpurl}', /begins with https/],
    ['http://network.example/?u={lpurl}', /begins with https/],
    ['https:network.example/?u={lpurl}', /begins with https/],
    ['https:///network.example/?u={lpurl}', /begins with https/],
    ['HTTPS://network.example/?u={lpurl}', /begins with https/],
    ['javascript:alert(1)?{lpurl}', /begins with https/],
    ['https://me:secret@network.example/?u={lpurl}', /user name or a password/],
    ['https://network.example/?u={lpurl}#part', /fragment/],
    ['https://network.example/?u={lpurl}#', /fragment/],
    ['https://network.example/?u#{lpurl}', /fragment/],
    ['https://{lpurl}/?u=1', /behind the question mark/],
    ['https://network.example.{lpurl}', /behind the question mark/],
    ['https://network.example/go/{lpurl}', /behind the question mark/],
    ['https://network.example/go/{lpurl}?u=1', /behind the question mark/],
    ['https://network.example/?u={lpurl}&c={click}', /only placeholder/],
    [`https://network.example/?u={lpurl}&c=${'a'.repeat(500)}`, /at most 500/],
  ]
  for (const [text, problem] of refused) assert.match(trackingTemplateProblemOf(text) ?? '', problem, text)
})
