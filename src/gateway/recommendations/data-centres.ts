import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Metrics } from '../../metrics.ts'
import type { Repeat } from '../../platform/every.ts'
import { errorFields, type Log } from '../../platform/log.ts'
import { isNetworkFile, networkLinesOf } from '../../rules/clicks/network-file.ts'
import { createNetworkList, type NetworkList } from '../../rules/clicks/networks.ts'
import { MINUTE_MS } from '../../rules/durations.ts'

/** The addresses of servers, by files that the operator keeps. Without a folder there are none. */
export interface DataCentres {
  has(address: string): boolean
  /** How many networks are known. */
  readonly size: number
  stop(): void
}

interface Options {
  /** PARLEY_DATA_CENTRE_NETWORKS. */
  directory: string | undefined
  log: Log
  metrics: Pick<Metrics, 'dataCentreNetworks'>
  repeat: Repeat
}

const LOOK_EVERY_MS = MINUTE_MS
/** Lists of all large clouds together have a fifth of it. While a file is read, nothing else is done: this much takes half a second. */
const FILE_BYTES_MAX = 16 * 1024 * 1024

export function followDataCentres({ directory, log, metrics, repeat }: Options): DataCentres {
  if (directory === undefined) return { has: () => false, size: 0, stop() {} }
  const files = createNetworkFiles(directory, log)
  const look = () => files.refresh().finally(() => metrics.dataCentreNetworks.set(files.size))
  const following = repeat(LOOK_EVERY_MS, look, 'data centre networks')
  return {
    has: files.has,
    get size() {
      return files.size
    },
    stop: following.stop,
  }
}

interface NetworkFile {
  /** A new value means that the file has changed. */
  version: string
  /** The last that could be read. */
  networks: NetworkList | undefined
}

export interface NetworkFiles {
  has(address: string): boolean
  readonly size: number
  /** Reads what is new or changed since. Throws when the folder cannot be read, and keeps what it had. */
  refresh(): Promise<void>
}

export function createNetworkFiles(directory: string, log: Log): NetworkFiles {
  let files = new Map<string, NetworkFile>()
  return {
    has: (address) => files.values().some(({ networks }) => networks?.has(address)),
    get size() {
      return files.values().reduce((sum, { networks }) => sum + (networks?.size ?? 0), 0)
    },
    async refresh() {
      const names = (await readdir(directory)).filter(isNetworkFile).toSorted()
      const found = new Map<string, NetworkFile>()
      for (const name of names) found.set(name, await refreshed(join(directory, name), name, files.get(name), log))
      for (const [file, { networks }] of files)
        if (networks && !found.has(file))
          log.warn({ file, networks: networks.size }, 'a file of networks is gone: clicks from them are paid for')
      files = found
    },
  }
}

/** A file that is broken is told of once for each change, and counts as it was before. */
async function refreshed(path: string, file: string, known: NetworkFile | undefined, log: Log): Promise<NetworkFile> {
  let version = 'unreadable'
  try {
    const { mtimeMs, size, isFile } = await standingOf(path)
    version = `${mtimeMs} ${size}`
    if (known?.version === version) return known
    if (!isFile || size > FILE_BYTES_MAX) {
      log.warn(
        { file, bytes: size, bytesMax: FILE_BYTES_MAX },
        'a file of networks is too large, or no file: its last good version is kept',
      )
      return { version, networks: known?.networks }
    }
    const networks = createNetworkList(networkLinesOf(file, await readFile(path, 'utf8')))
    const { length: rejected } = networks.rejected
    const fields = { file, networks: networks.size, rejected, firstRejectedLine: networks.rejected[0]?.line }
    // A failed download most often leaves an empty file behind, or a page that says why.
    if (networks.size === 0) {
      log.warn(fields, 'a file of networks has none: its last good version is kept')
      return { version, networks: known?.networks }
    }
    if (rejected > 0) log.warn(fields, 'lines of a file of networks are no networks, and are left out')
    else log.info({ file, networks: networks.size }, 'a file of networks was read')
    return { version, networks }
  } catch (error) {
    if (known?.version !== version)
      log.warn({ file, ...errorFields(error) }, 'a file of networks cannot be read: its last good version is kept')
    return { version, networks: known?.networks }
  }
}

async function standingOf(path: string) {
  const found = await stat(path)
  return { mtimeMs: found.mtimeMs, size: found.size, isFile: found.isFile() }
}
