import { run } from './cli/program.ts'
import type { Role } from './serve.ts'

const roles = { gateway: true, worker: true, console: true } satisfies Record<Role, true>

// A reader such as `head` may close its end before everything is written.
process.stdout.on('error', () => process.exit(0))

process.exitCode = await run(process.argv, {
  roles: Object.keys(roles) as Role[],
  // Loaded only when used: the servers, the tokenizer and Stripe would make every other command twice as slow.
  serve: async (...args) => (await import('./serve.ts')).serve(...args),
  openCheckout: async (...args) => (await import('./console/payments.ts')).openCheckout(...args),
})
