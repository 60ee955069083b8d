/** The classes as which tokens are charged, in the order in which they are listed everywhere. */
export const TOKEN_CLASSES = [
  ['input', 'Input'],
  ['cachedInput', 'Cached input'],
  ['cacheWrite', 'Cache write'],
  ['output', 'Output'],
  ['reasoning', 'Reasoning'],
] as const
