import type { Mutant } from './mutant.ts'

export const STORE: Mutant[] = [
  {
    bug: 'the tenant outlives its transaction',
    file: 'src/store/tenancy.ts',
    from: `set_config('parley.tenant', \${signed}, true)`,
    to: `set_config('parley.tenant', \${signed}, false)`,
    test: 'test/integration/tenancy.test.ts',
    title: 'a connection that goes back to the pool carries neither the role nor the names of the last tenant',
  },
  {
    bug: 'the role of tenants outlives its transaction',
    file: 'src/store/tenancy.ts',
    from: `set_config('role', 'parley_tenant', true)`,
    to: `set_config('role', 'parley_tenant', false)`,
    test: 'test/integration/tenancy.test.ts',
    title: 'a connection that goes back to the pool carries neither the role nor the names of the last tenant',
  },
  {
    bug: "the tenant's project outlives its transaction",
    file: 'src/store/tenancy.ts',
    from: `set_config('parley.tenant', \${await tenants.sign(tenant)}, true)`,
    to: `set_config('parley.tenant', \${await tenants.sign(tenant)}, false)`,
    test: 'test/integration/tenancy.test.ts',
    title: 'a connection that goes back to the pool carries neither the role nor the names of the last tenant',
  },
  {
    bug: 'what is settled at the end of a step is counted twice',
    file: 'src/store/usage-roll-up.ts',
    from: 'where m.settled_at > ${from} and',
    to: 'where m.settled_at >= ${from} and',
    test: 'test/integration/usage-roll-up.test.ts',
    title: 'a call that is settled in the very moment at which a step ends is counted in that step, and not again',
  },
  {
    bug: 'what is settled at the end of a step is never counted',
    file: 'src/store/usage-roll-up.ts',
    from: 'and m.settled_at <= ${to} and',
    to: 'and m.settled_at < ${to} and',
    test: 'test/integration/usage-roll-up.test.ts',
    title: 'a call that is settled in the very moment at which a step ends is counted in that step, and not again',
  },
]
