import { run } from './cli/program.ts'
import type { Role } from './serve.ts'

/**
 * The roles, and whether each runs when none is named. A matcher has a process of its own: its model holds one up for
 * milliseconds.
 */
const roles = { gateway: true, worker: true, console: true, matcher: false } satisfies Record<Role, boolean>

// A reader such as `head` may close its end before everything is written.
process.stdout.on('error', () => process.exit(0))

process.exitCode = await run(process.argv, {
  roles: Object.keys(roles) as Role[],
  usualRoles: (Object.keys(roles) as Role[]).filter((role) => roles[role]),
  // Loaded only when used: the servers and the tokenizer would make every other command twice as slow.
  serve: async (...args) => (await import('./serve.ts')).serve(...args),
})
