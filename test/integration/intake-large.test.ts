/** Large bodies, beside a neighbour that sends small ones: a gateway in a process of its own, with the limits that it has by default. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts'
import { addProject, chatBody, complete, createWorld, until, type World } from '../support/world.ts'

const FLOOD_MS = 6_000
const CONNECTIONS = 4
const MIB = 1024 * 1024

let world: World
let gateway: GatewayProcess
let opsUrl: string

before(async () => {
  world = await createWorld()
  const opsPort = await freePort()
  opsUrl = `http://127.0.0.1:${opsPort}`
  gateway = await startGatewayProcess({ ...world.env, PARLEY_OPS_PORT: String(opsPort) })
  await until(async () => (await complete(at(), chatBody('tokens=2'))).status === 200)
})
after(async () => {
  await gateway.kill()
  await world.close()
})

const at = () => ({ url: gateway.url, project: world.project })

async function medianOfCalls(count: number): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < count; n++) {
    const startedMs = performance.now()
    const response = await complete(at(), chatBody('tokens=2'))
    await response.arrayBuffer()
    assert.equal(response.status, 200)
    times.push(performance.now() - startedMs)
    await sleep(20)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(count / 2)] ?? Infinity
}

async function memory(): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  return Number(/^parley_process_resident_memory_bytes (\S+)/m.exec(text)?.[1])
}

/** Sends the same large body again and again, and counts what it is answered. */
async function flood(credits: string, isOver: () => boolean): Promise<Record<number, number>> {
  const project = await addProject(world.store, world.secrets, { credits })
  const content = 'The quick brown fox jumps over the lazy dog. '.repeat((7.9 * MIB) / 45)
  const body = JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content }] })
  const answers: Record<number, number> = {}
  const send = async () => {
    while (!isOver()) {
      const status = await complete({ url: gateway.url, project }, body).then(
        async (response) => {
          await response.arrayBuffer()
          return response.status
        },
        () => 0,
      )
      answers[status] = (answers[status] ?? 0) + 1
      if (status !== 422) await sleep(100)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, send))
  return answers
}

for (const [who, credits] of [
  ['without credit', '0'],
  ['with a little credit', '0.01'],
] as const) {
  test(`a project ${who} that sends 8 MB again and again over ${CONNECTIONS} connections slows no neighbour down`, async (t) => {
    const alone = await medianOfCalls(20)
    let isOver = false
    const flooding = flood(credits, () => isOver)
    setTimeout(() => (isOver = true), FLOOD_MS)
    await sleep(500)
    const beside = await medianOfCalls(40)
    const answers = await flooding
    t.diagnostic(
      `median alone ${alone.toFixed(0)} ms, beside ${beside.toFixed(0)} ms; answers ${JSON.stringify(answers)}; memory ${Math.round((await memory()) / MIB)} MB`,
    )
    // It was two seconds. This machine is shared, and the one who floods is in this process.
    assert.ok(beside < alone * 4 + 200, `${beside} ms beside it, ${alone} ms alone`)
    if (credits === '0') assert.deepEqual(Object.keys(answers), ['403'])
  })
}
