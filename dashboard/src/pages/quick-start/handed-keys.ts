/**
 * A pair that was just made, on its way from the page that shows it once to the examples. It is kept in this variable and
 * nowhere else: what the router or the browser's history hold would outlive the page.
 */
export interface HandedKeys {
  projectId: string
  publishableKey: string
  secretKey: string
}

let handed: HandedKeys | undefined

export function handKeys(keys: HandedKeys): void {
  handed = keys
}

/** Only for the project that they belong to. */
export function handedKeysOf(projectId: string): HandedKeys | undefined {
  return handed?.projectId === projectId ? handed : undefined
}

export function forgetKeys(): void {
  handed = undefined
}
