import type { FastifyInstance } from 'fastify'
import { recordAdvertiserCheck } from '../../actions/offers/advertisers.ts'
import { notThere } from '../../actions/refusals.ts'
import { explainFile, explainRecord } from '../../rules/projects/domain-labels.ts'
import { PROOF_FILE_PATH, proofRecordOf, type Findings } from '../../rules/projects/domains.ts'
import type { Db } from '../../store/database.ts'
import { findAdvertiser, type DomainProof } from '../../store/offers/advertisers.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'

const CHECKS_PER_MINUTE = 6

export function advertiserDomainRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/advertisers/:advertiser/domain', async ({ db, advertiser }) =>
    viewOf(await expectAdvertiser(db, advertiser.id)),
  )
  route(app, world, 'POST /api/advertisers/:advertiser/domain/check', (call) => checkNow(world, call))
}

async function checkNow(world: World, call: ConsoleRequest<'POST /api/advertisers/:advertiser/domain/check'>) {
  const { actor, inTenant } = call
  const { id: advertiserId } = call.advertiser
  await throttle(world.db, [{ subject: `domain-check/${advertiserId}`, most: CHECKS_PER_MINUTE }])
  const { domain: name, domain_token: token } = await inTenant((tx) => expectAdvertiser(tx, advertiserId))
  const findings = await world.checkDomain({ name, token })
  return inTenant(async (tx) => {
    await recordAdvertiserCheck(tx, actor, { advertiserId, token, findings })
    return viewOf(await expectAdvertiser(tx, advertiserId), findings)
  })
}

type Advertiser = NonNullable<Awaited<ReturnType<typeof findAdvertiser>>>

async function expectAdvertiser(db: Db, id: string): Promise<Advertiser> {
  const advertiser = await findAdvertiser(db, { id })
  if (!advertiser) throw notThere('advertiser')
  return advertiser
}

function viewOf(advertiser: Advertiser, findings?: Findings) {
  const { domain: name, domain_token: token, domain_verified_at: verifiedAt, domain_proven_by: provenBy } = advertiser
  const record = proofRecordOf(name, token)
  return {
    name,
    verifiedAt,
    provenBy: provenBy as DomainProof | null,
    record,
    file: { url: `https://${name}${PROOF_FILE_PATH}`, content: record.value },
    seen: findings ? { record: explainRecord(findings, record), file: explainFile(findings) } : null,
  }
}
