/** `node test/simulation/run.ts --seeds 20000` runs many seeds; `--seed N` runs one and prints what happened in it. */
import { parseArgs } from 'node:util'
import { simulate } from './simulate.ts'
import { installVirtualTime } from './virtual-time.ts'
const { values } = parseArgs({ options: { seeds: { type: 'string' }, seed: { type: 'string' } } })
const t0 = performance.now()
const realNow = performance.now.bind(performance)
const time = installVirtualTime()
let bad = 0
const from = Number(values.seed ?? 1), to = values.seed ? from : Number(values.seeds ?? 100)
const kinds = new Map<string, number[]>()
for (let seed = from; seed <= to; seed++) {
  const world = await simulate(seed, time, { isTraced: values.seed !== undefined })
  if (values.seed) process.stdout.write(world.lines.join('\n') + '\n')
  if (world.violations.length > 0) { bad++; for (const v of world.violations) { const k = v.replace(/\d+/g, '#'); kinds.set(k, [...(kinds.get(k) ?? []), seed]) } }
}
time.restore()
for (const [k, s] of [...kinds].sort((a,b)=>b[1].length-a[1].length).slice(0,25)) process.stdout.write(`${s.length} × ${k}  seeds ${s.slice(0,4)}\n`)
process.stdout.write(`bad=${bad} ms=${performance.now() - t0}\n`)
