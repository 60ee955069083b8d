/**
 * Loaded into every test process (`node --import ./test/support/time-limit.ts --test`). A file whose tests are over, or wait
 * for something that never comes, may keep a server or a child open, and Node would wait for it until CI gives up. The
 * runner's own `--test-timeout` looks only at tests.
 */
const MOST_MS = 15 * 60_000

if (process.env.NODE_TEST_CONTEXT) {
  setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ')
    process.stderr.write(`${process.argv[1]} has not ended after ${MOST_MS / 60_000} minutes. Still open: ${open}\n`)
    process.exit(1)
  }, MOST_MS).unref()
}
