/** Files of networks, as clouds publish them. */

const NETWORK_FILE = /\.(?:txt|cidr|json)$/i

export function isNetworkFile(name: string): boolean {
  return NETWORK_FILE.test(name) && !name.startsWith('.')
}

/**
 * Returns the lines of such a file, for `createNetworkList`. JSON is searched whatever its shape, because every cloud has
 * another one (AWS, Google, Azure, Oracle): every text that is written as a network is taken, and all of a plain array of
 * texts. Throws on a JSON file that is no JSON.
 */
export function networkLinesOf(name: string, text: string): string[] {
  // Some programs put a mark at the beginning of what they write.
  const content = text.replace(/^\uFEFF/, '')
  return /\.json$/i.test(name) ? networksIn(JSON.parse(content)) : content.split(/\r?\n/)
}

const WRITTEN_AS_NETWORK = /^[\d.:a-f]+\/\d+$/i

function networksIn(root: unknown): string[] {
  if (Array.isArray(root) && root.every((entry) => typeof entry === 'string')) return root
  const found: string[] = []
  // A list of what is still to be looked at instead of recursion: a file can be nested deeper than the stack is.
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string' && WRITTEN_AS_NETWORK.test(value)) found.push(value)
    if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) waiting.push(inner)
  }
  return found
}
