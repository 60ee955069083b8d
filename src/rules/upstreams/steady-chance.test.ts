import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { drawOrder } from './routing.ts'
import { inSteadyOrder, steadyChance } from './steady-chance.ts'

interface Weighted {
  id: string
  group: number
  weight: number
}

const weighted = (id: string, weight: number, group = 0): Weighted => ({ id, group, weight })
const orderFor = (deployments: readonly Weighted[], conversation: string) =>
  drawOrder(deployments, steadyChance(conversation)).map(({ id }) => id)

const anyDeployments = fc.uniqueArray(
  fc.record({
    id: fc.uuid(),
    group: fc.integer({ min: 0, max: 2 }),
    weight: fc.integer({ min: 1, max: 1_000 }),
  }),
  { minLength: 1, maxLength: 8, selector: ({ id }) => id },
)
const anyConversation = fc.string({ minLength: 1, maxLength: 40 })

test('the same conversation has the same order, in whichever order the deployments are known', () => {
  fc.assert(
    fc.property(anyDeployments, anyConversation, (deployments, conversation) => {
      assert.deepEqual(orderFor(deployments.toReversed(), conversation), orderFor(deployments, conversation))
    }),
  )
})

test('a deployment that goes away moves its own conversations only, each to its second choice', () => {
  fc.assert(
    fc.property(anyDeployments, anyConversation, fc.nat(), (deployments, conversation, n) => {
      const gone = deployments[n % deployments.length]
      const left = deployments.filter((deployment) => deployment !== gone)
      const before = orderFor(deployments, conversation)
      assert.deepEqual(
        orderFor(left, conversation),
        before.filter((id) => id !== gone?.id),
      )
    }),
  )
})

test('a weight that is raised takes conversations from others, and moves none between those', () => {
  fc.assert(
    fc.property(anyDeployments, anyConversation, fc.nat(), (deployments, conversation, n) => {
      const raised = deployments[n % deployments.length]
      const now = deployments.map((each) => (each === raised ? { ...each, weight: each.weight * 2 } : each))
      const [first] = orderFor(now, conversation)
      assert.ok(first === raised?.id || first === orderFor(deployments, conversation)[0])
    }),
  )
})

test('over many conversations each deployment is first as often as its weight says', () => {
  const deployments = [weighted('a', 700), weighted('b', 200), weighted('c', 100), weighted('z', 1_000, 1)]
  const firsts = new Map<string, number>()
  for (let n = 0; n < 20_000; n++) {
    const [first = ''] = orderFor(deployments, `conversation ${n}`)
    firsts.set(first, (firsts.get(first) ?? 0) + 1)
  }
  for (const [id, share] of Object.entries({ a: 0.7, b: 0.2, c: 0.1 }))
    assert.ok(Math.abs((firsts.get(id) ?? 0) / 20_000 - share) < 0.015, `${id}: ${firsts.get(id)}`)
})

test('keys share conversations evenly, and one that goes away moves only its own', () => {
  const keys = ['k1', 'k2', 'k3', 'k4'].map((id) => ({ id }))
  const firsts = new Map<string, number>()
  for (let n = 0; n < 20_000; n++) {
    const order = inSteadyOrder(keys, `conversation ${n}`)
    const first = order[0]?.id ?? ''
    firsts.set(first, (firsts.get(first) ?? 0) + 1)
    const without = inSteadyOrder(keys.slice(1), `conversation ${n}`)
    assert.deepEqual(
      without,
      order.filter(({ id }) => id !== 'k1'),
    )
  }
  for (const { id } of keys)
    assert.ok(Math.abs((firsts.get(id) ?? 0) / 20_000 - 0.25) < 0.015, `${id}: ${firsts.get(id)}`)
})
