/** Other clocks for the gateways, through libfaketime where it is installed. Durations stay true; the time of day jumps. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Clock {
  /** The environment that makes a process use this clock. */
  readonly env: Record<string, string>
  set(offsetSeconds: number): void
}

/** Undefined: libfaketime is not installed (Debian's package is called faketime). */
export function fakeTimeLibrary(): string | undefined {
  return foldersIn('/usr/lib')
    .map((folder) => join(folder, 'faketime/libfaketimeMT.so.1'))
    .find((path) => foldersIn(join(path, '..')).includes(path))
}

export function createClock(library: string | undefined, path: string): Clock {
  const set = (offsetSeconds: number) =>
    writeFileSync(path, `${offsetSeconds < 0 ? '-' : '+'}${Math.abs(offsetSeconds)}\n`)
  set(0)
  if (library === undefined) return { env: {}, set }
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: path,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
  }
}

function foldersIn(dir: string): string[] {
  try {
    return readdirSync(dir).map((name) => join(dir, name))
  } catch {
    return []
  }
}
