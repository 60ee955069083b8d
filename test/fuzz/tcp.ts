/** Bytes on real sockets, where there need not be a request at all. */
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../support/random.ts'
import { complaintAbout } from './answers.ts'
import type { Part, Trial } from './part.ts'
import { tcpInputOf, type TcpInput } from './raw-requests.ts'
import { answersIn } from './wire.ts'
import { openWorld, type World } from './world.ts'

/** The wait for an answer after the last piece; the answers to a whole request take only a few milliseconds. */
const WAITS_MS = 40
/** Once a client has half-closed, nothing can come any more that the server would have to wait for. */
const CLOSED_WITHIN_MS = 2_000
const AT_ONCE = 48
const CANARY_EVERY = 250
const LATE = 'late'
/** Where a whole machine stood still for a while, those that are not tried are like those that are. */
const LATE_TRIED_AGAIN = 200

export async function createTcpPart(): Promise<Part> {
  const world = await openWorld()
  await world.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = world.app.server.address() as AddressInfo
  const late: TcpInput[] = []
  return {
    atOnce: AT_ONCE,
    async try(random, n) {
      const input = tcpInputOf(random, random.pick([...world.callers, ...world.outsiders]).headers)
      const trial = await tryInput(random, port, input)
      if (trial.ending === LATE) {
        late.push(input)
        return { ...trial, complaint: undefined }
      }
      if (n % CANARY_EVERY !== 0 || trial.complaint !== undefined) return trial
      return { ...trial, complaint: await canaryComplaint(world, port) }
    },
    async complaints() {
      const found: string[] = []
      // Inputs that were only late are tried again alone, so that no other input can be the reason.
      for (const input of late.slice(0, LATE_TRIED_AGAIN)) {
        const { complaint, shown } = await tryInput(createRandom(1), port, input)
        if (complaint !== undefined) found.push(`${complaint}: ${await shown()}`)
      }
      return [...found, ...(await world.complaints())]
    },
    standstill: () => world.standstill(),
    close: () => world.close(),
  }
}

async function tryInput(random: Random, port: number, input: TcpInput): Promise<Trial> {
  // Refused keys are told late to an address that sends many of them.
  const localAddress = `127.${1 + random.int(250)}.${random.int(256)}.${1 + random.int(250)}`
  const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true, noDelay: true })
  const received: Buffer[] = []
  let hasFailed = false
  socket.on('data', (piece: Buffer) => received.push(piece)).on('error', () => (hasFailed = true))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const ended = new Promise<void>((resolve) => socket.once('end', () => resolve()).once('close', () => resolve()))
  const isClosed = await drive(socket, input, ended, closed)
  const bytes = Buffer.concat(received)
  const read = answersIn(bytes, () => false)
  const seen = read.answers
    .map(({ status }) => status)
    .slice(0, 2)
    .join('+')
  const isWhole = input.ending === 'waits' && !hasFailed
  const complaint = isClosed
    ? complaintOf(input, read, isWhole)
    : `not closed within ${CLOSED_WITHIN_MS} ms of the half-close`
  const shown = () =>
    JSON.stringify(input.pieces.map((piece) => piece.toString('latin1').slice(0, 1_000))) +
    ` answered ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}`
  return {
    ending: isClosed ? seen || 'nothing' : LATE,
    complaint,
    shown,
  }
}

/** Whether the server closed its side in time. */
async function drive(socket: Socket, input: TcpInput, ended: Promise<void>, closed: Promise<void>): Promise<boolean> {
  await Promise.race([once(socket, 'connect'), closed])
  for (const piece of input.pieces) {
    if (socket.writable) socket.write(piece)
    if (input.gapMs > 0) await sleep(input.gapMs)
  }
  if (input.ending === 'leaves') socket.destroy()
  if (input.ending === 'waits') await Promise.race([ended, sleep(WAITS_MS)])
  if (!socket.destroyed) socket.end()
  const timeout = new AbortController()
  const isLate = sleep(CLOSED_WITHIN_MS, 'late', { signal: timeout.signal }).catch(() => 'late')
  const first = await Promise.race([ended.then(() => 'ended'), isLate])
  timeout.abort()
  socket.destroy()
  return first === 'ended'
}

/** A client that half-closes or leaves may miss a part of an answer: the part that arrived must be right as far as it goes. */
function complaintOf(
  input: TcpInput,
  { answers, problem }: ReturnType<typeof answersIn>,
  isWhole: boolean,
): string | undefined {
  if (answers.length > input.answersMax) return `${answers.length} answers, at most ${input.answersMax}`
  if (problem !== undefined && isWhole && !/cut off|without an end/.test(problem)) return problem
  const isHead = input.pieces.some((piece) => piece.includes('HEAD'))
  for (const answer of answers) {
    const found = complaintAbout({ method: isHead ? 'HEAD' : 'GET', isOpenAIErrors: false }, answer)
    if (found !== undefined && !isHead) return found
  }
  return undefined
}

/** Somebody who asks as everybody does is answered, whatever the others send. */
async function canaryComplaint({ callers }: World, port: number): Promise<string | undefined> {
  const startedMs = performance.now()
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers: callers[0]!.headers })
    await response.text()
    const ms = performance.now() - startedMs
    return response.status === 200 && ms < 2 * CLOSED_WITHIN_MS
      ? undefined
      : `a canary got ${response.status} in ${ms} ms`
  } catch (error) {
    return `a canary got ${String(error)}`
  }
}
