/**
 * A TCP proxy that misbehaves on request, for standing between a client and a server that both behave. Each connection
 * gets a fault when it is opened; all of them together can be paused and cut at any time.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Target {
  host: string
  port: number
}

/**
 * How a connection ends: in order; torn down, so that what was on its way is lost; or torn down for the client alone, so
 * that what it had sent still arrives, at a server that cannot answer any more.
 */
export type CutKind = 'fin' | 'rst' | 'rst-client'

export interface ConnectionFault {
  /** Every piece, in both directions, arrives this much later. */
  delayMs?: number
  /** Ends the connection when exactly so many bytes of one direction have passed. */
  cutAfter?: { bytes: number; of: 'request' | 'answer'; how: CutKind }
  /** Accepts everything and passes nothing on. */
  blackHole?: boolean
}

export interface FaultProxy {
  readonly port: number
  readonly openConnections: number
  /** Where new connections lead; undefined: they are closed at once. Servers come back on other ports. */
  target: Target | undefined
  /** Asked once for each new connection. */
  faultFor: () => ConnectionFault
  /** Bytes of every connection wait, and arrive in order after `resume`, also if their sender has given up meanwhile. */
  pause(): void
  resume(): void
  /** From now on everything on the present connections arrives this much later. */
  slow(delayMs: number): void
  /** From now on nothing passes on the present connections, and neither side is told: a network that forgot them. */
  silence(): void
  /** Ends the connections that `which` picks, or all; returns how many. */
  cut(how: CutKind, which?: (fault: ConnectionFault) => boolean): number
  close(): Promise<void>
}

interface Connection {
  near: Socket
  far: Socket | undefined
  fault: ConnectionFault
  passed: { request: number; answer: number }
}

type Direction = 'request' | 'answer'

export async function createFaultProxy(target?: Target): Promise<FaultProxy> {
  const connections = new Set<Connection>()
  const gate = createGate()

  const server = createServer({ allowHalfOpen: true }, (near) => {
    near.setNoDelay(true)
    if (!proxy.target) {
      near.destroy()
      return
    }
    const fault = proxy.faultFor()
    const far = fault.blackHole ? undefined : connect({ ...proxy.target, allowHalfOpen: true, noDelay: true })
    const connection: Connection = { near, far, fault, passed: { request: 0, answer: 0 } }
    connections.add(connection)
    near.on('close', () => connections.delete(connection))
    if (!far) {
      near.on('error', () => undefined).on('end', () => near.end())
      near.resume()
      return
    }
    pump(connection, 'request', near, far, gate)
    pump(connection, 'answer', far, near, gate)
    if (fault.cutAfter?.bytes === 0) cutOff(connection, fault.cutAfter.how)
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 })
  await once(server, 'listening')

  const proxy: FaultProxy = {
    port: (server.address() as AddressInfo).port,
    get openConnections() {
      return connections.size
    },
    target,
    faultFor: () => ({}),
    pause: () => gate.close(),
    resume: () => gate.open(),
    slow(delayMs) {
      for (const connection of connections) connection.fault = { ...connection.fault, delayMs }
    },
    silence() {
      for (const connection of connections) connection.fault = { ...connection.fault, blackHole: true }
    },
    cut(how, which = () => true) {
      const chosen = [...connections].filter(({ fault }) => which(fault))
      for (const connection of chosen) cutOff(connection, how)
      return chosen.length
    },
    async close() {
      server.close()
      for (const connection of connections) cutOff(connection, 'rst')
      gate.open()
      await once(server, 'close')
    },
  }
  return proxy
}

function pump(connection: Connection, direction: Direction, from: Socket, to: Socket, gate: Gate): void {
  let delivered = Promise.resolve()
  from.on('data', (bytes: Buffer) => {
    // One piece at a time: a later one must not overtake it, and the sender feels that nobody reads.
    from.pause()
    delivered = deliver(connection, direction, to, bytes, gate).finally(() => from.resume())
  })
  // A socket ends although it is paused, and its last piece may still be on its way.
  from.on('end', () => void delivered.then(() => to.end()))
  from.on('error', () => to.resetAndDestroy())
  from.on('close', () => void delivered.then(() => to.destroySoon()))
}

/** Passes one piece on, as far as the fault allows. */
async function deliver(
  connection: Connection,
  direction: Direction,
  to: Socket,
  bytes: Buffer,
  gate: Gate,
): Promise<void> {
  const { delayMs, cutAfter } = connection.fault
  if (delayMs !== undefined) await sleep(delayMs)
  while (gate.isClosed) await gate.opened()
  const left = cutAfter?.of === direction ? cutAfter.bytes - connection.passed[direction] : Infinity
  const part = bytes.length > left ? bytes.subarray(0, left) : bytes
  connection.passed[direction] += part.length
  if (!to.writable || connection.fault.blackHole) return
  const isFull = !to.write(part)
  if (cutAfter && part.length >= left) cutOff(connection, cutAfter.how)
  else if (isFull) await Promise.race([once(to, 'drain'), once(to, 'close')]).catch(() => undefined)
}

function cutOff({ near, far }: Connection, how: CutKind): void {
  if (how === 'fin') near.destroySoon()
  else near.resetAndDestroy()
  if (how === 'fin') far?.destroySoon()
  else if (how === 'rst') far?.resetAndDestroy()
}

type Gate = ReturnType<typeof createGate>

function createGate() {
  let waiting: (() => void)[] | undefined
  return {
    get isClosed() {
      return waiting !== undefined
    },
    close() {
      waiting ??= []
    },
    open() {
      const woken = waiting ?? []
      waiting = undefined
      for (const wake of woken) wake()
    },
    opened: () => new Promise<void>((resolve) => (waiting ? waiting.push(resolve) : resolve())),
  }
}
