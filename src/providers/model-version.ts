/** The version in the name of a maker's model: it decides what the model takes and refuses. */
export interface ModelVersion {
  major: number
  minor: number
}

/** A maker's own name without a version counts as its newest model. */
const NEWEST: ModelVersion = { major: Infinity, minor: 0 }

export function versionIn(model: string, maker: string, pattern: RegExp, ofOthers: ModelVersion): ModelVersion {
  if (!model.includes(maker)) return ofOthers
  const [, major, minor = '0'] = pattern.exec(model) ?? []
  return major === undefined ? NEWEST : { major: Number(major), minor: Number(minor) }
}

export function isAtLeast({ major, minor }: ModelVersion, [leastMajor, leastMinor]: [number, number]): boolean {
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}
