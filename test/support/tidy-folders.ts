/** The rules about the folders of src, as in tidy.ts: which stand beside each other, and how full they are. */
import { posix } from 'node:path'
import { breaches, inFolders, isTest, type Rule } from './tidy.ts'

/**
 * The folders of a layer that build on others. All that are not named here are independent, so that a noun can be read and
 * changed without its neighbours. Nothing leads back: `circleIn` sees to it. Code that two nouns share without building on each
 * other belongs beside their folders, or a layer below.
 */
export const SIDEWAYS: Record<string, Record<string, readonly string[]>> = {
  rules: {
    // A model's margin is about its price.
    catalogue: ['billing'],
    // The parts of a call have a usage, and are counted by the figures of its model.
    calls: ['billing', 'catalogue'],
    // A route has prices and figures, and takes some requests and not others.
    upstreams: ['billing', 'calls', 'catalogue'],
    // Networks that clicks come from are those that callers are counted by, only wider. What advertisers tell is refused as calls are.
    clicks: ['accounts', 'calls'],
    // The gates read what was said, and advertisers are told of clicks by their verdict.
    recommendations: ['calls', 'clicks'],
    // The public API is described from what checks its requests, and from what its answers are made of.
    openapi: ['billing', 'calls', 'clicks'],
    // An offer's words must not look like the line that we make of it.
    offers: ['recommendations'],
  },
  store: {
    // A recommendation is of an offer that may be advertised.
    recommendations: ['offers'],
    // A key's record has its project's monetization; a project that ends takes its alert and its text with it.
    projects: ['billing', 'calls', 'recommendations'],
  },
  // Counting a large prompt waits for its turn, as storing it does, and what it comes to depends on where it goes.
  gateway: {
    conversations: ['intake'],
    metering: ['intake', 'upstreams'],
    endpoints: ['metering', 'response'],
  },
  recommend: {
    // It makes the file that the embedder opens.
    'encoder-build': ['embedding'],
    campaigns: ['embedding'],
    gates: ['embedding'],
    'offer-index': ['embedding'],
  },
  console: {
    // The first page of a project shows its usage.
    projects: ['billing'],
    // A person's own account is shown with their projects.
    accounts: ['projects'],
  },
  cli: { billing: ['catalogue'], doctor: ['catalogue'] },
}

/** More than this, and nobody reads the list of names. */
const FILES_PER_FOLDER_MAX = 21

export const sidewaysImports: Rule = (files) =>
  breaches(
    files,
    (file) => inFolders('src')(file) && !isTest(file),
    (file) =>
      file.imports.flatMap(({ target, offset }) => {
        const [from, to] = [nounOf(file.path), nounOf(target ?? '')]
        if (!from || !to || from.layer !== to.layer || from.noun === to.noun) return []
        if (SIDEWAYS[from.layer]?.[from.noun]?.includes(to.noun)) return []
        const why = `${from.noun} of ${from.layer} does not build on ${to.noun} (test/support/tidy-folders.ts)`
        return [{ offset, why: `imports ${target}: ${why}` }]
      }),
  )

export const folderSizes: Rule = (files) => {
  const folders = Map.groupBy(
    files.filter((file) => inFolders('src')(file) && file.path.endsWith('.ts') && !isTest(file)),
    ({ path }) => posix.dirname(path),
  )
  return [...folders].flatMap(([folder, within]) => {
    const beyond = within.toSorted((a, b) => (a.path < b.path ? -1 : 1))[FILES_PER_FOLDER_MAX]
    const why = `${folder} has ${within.length} files beside tests, at most ${FILES_PER_FOLDER_MAX}: give some of them a folder, by what they are about`
    return beyond === undefined ? [] : [`${beyond.path}:1 is one too many, ${why}`]
  })
}

/** The nouns that lead back to the first of them, if any do. */
export function circleIn(
  nouns: Record<string, readonly string[]>,
  trail: readonly string[] = [],
): string[] | undefined {
  const here = trail.at(-1)
  if (here !== undefined && trail.indexOf(here) < trail.length - 1) return trail.slice(trail.indexOf(here))
  for (const next of here === undefined ? Object.keys(nouns) : (nouns[here] ?? [])) {
    const circle = circleIn(nouns, [...trail, next])
    if (circle) return circle
  }
  return undefined
}

/** `src/store/projects/keys.ts` is of the noun `projects`; what stands beside the folders is of none. */
function nounOf(path: string): { layer: string; noun: string } | undefined {
  const [, layer, noun] = /^src\/([^/]+)\/([^/]+)\//.exec(path) ?? []
  return layer === undefined || noun === undefined ? undefined : { layer, noun }
}
