/** Loaded into every test process (`node --import ./test/support/test-process.ts --test`). */
import asyncHooks from 'node:async_hooks'

/**
 * A file whose tests are over, or wait for something that never comes, may keep a server or a child open, and Node would
 * wait for it until CI gives up. The runner's own `--test-timeout` looks only at tests.
 */
const MOST_MS = 15 * 60_000
const { exit } = process

if (process.env.NODE_TEST_CONTEXT) {
  limitTime()
  failOnUnhandledRejections()
  failOnExit()
}

function limitTime(): void {
  setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ')
    process.stderr.write(`${process.argv[1]} has not ended after ${MOST_MS / 60_000} minutes. Still open: ${open}\n`)
    exit(1)
  }, MOST_MS).unref()
}

/**
 * The runner follows every promise, only to know which test an unhandled rejection belongs to: 7 to 23 % of the CPU time in
 * four of the five files that were measured. Without that it would report such a rejection and pass, so here it fails the file. It also does when the
 * test that caused it is over by then, which the runner would let pass.
 */
function failOnUnhandledRejections(): void {
  const { createHook } = asyncHooks
  asyncHooks.createHook = (options) => createHook({ ...options, trackPromises: false })
  process.on('unhandledRejection', (reason) => {
    process.exitCode = 1
    const stack = reason instanceof Error ? reason.stack : String(reason)
    process.stderr.write(`${process.argv[1]}: a promise was rejected and nothing handled it: ${stack}\n`)
  })
}

/** A test that ends the process would leave out those after it, and the file would pass. */
function failOnExit(): void {
  process.exit = (code) => {
    process.stderr.write(`${process.argv[1]}: process.exit(${code ?? ''}) was called in the process of the tests\n`)
    return exit(1)
  }
}
