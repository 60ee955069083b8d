/** The files of the tests that failed, as Node's test runner names them at the end of what it prints. Each once. */
export function failedFilesIn(output: string): string[] {
  const [, list = ''] = output.split('failing tests:')
  return [...new Set(Array.from(list.matchAll(/^test at (\S+?):\d+:\d+$/gm), ([, file = '']) => file))]
}
