import { z } from 'zod'
import { ADVERTISER_ROLES, type AdvertiserRole } from '../../rules/accounts/advertisers.ts'
import { nameProblemOf, personNameProblemOf } from '../../rules/accounts/names.ts'
import { ROLES } from '../../rules/accounts/roles.ts'
import { perClass } from '../../rules/billing/usage.ts'

/** The pieces that every noun's contract is written with. */

export type Access = 'anyone' | 'user' | 'publisher' | 'project' | 'advertiser'

export interface Entry {
  /**
   * The callers allowed: anyone, any signed-in user, or a member of the publisher, of the project's publisher or of the
   * advertiser.
   */
  access: Access
  /** The least role, for publishers and projects. */
  role?: (typeof ROLES)[number]
  /** The same for advertisers. */
  advertiserRole?: AdvertiserRole
  /** Only for who has confirmed their own address. */
  confirmed?: true
  /** Needs a proof of identity that is a few minutes old at most and was given in this session: signing in, or /api/me/proof. */
  freshProof?: true
  /** Changes who may act for the publisher or the advertiser, so nobody else acts for it meanwhile. */
  changesTeam?: true
  /** Parameters of the path that are not uuids. */
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodObject
  /** Everything that leaves the server: anything else that the handler returns is taken out. */
  reply: z.ZodType
  /** The body is a file (application/octet-stream), which the handler reads piece by piece once it is known who sends it. */
  takesFile?: true
  /** The handler talks to others on the network, so no transaction is open meanwhile: it opens its own with `inTenant`. */
  network?: true
  /** The format of a reply that is not sent as JSON: a file to save, or server-sent events (the handler then yields them). */
  format?: 'csv' | 'json' | 'markdown' | 'events'
}

/** Keeps the exact type of each entry and checks its shape. */
export function entries<Entries extends Record<`${string} /api/${string}`, Entry>>(its: Entries): Entries {
  return its
}

export const id = z.uuid()
export const time = z.date().transform((date) => date.toISOString())
/** Money, and counts that may exceed what a number holds exactly. */
export const amount = z.bigint().transform(String)
/** Money as it is sent to us. */
export const nanos = z
  .string()
  .regex(/^\d{1,18}$/, 'Enter an amount like 25 or 12.50.')
  .transform(BigInt)
export const count = z.number().int().nonnegative()
export const role = z.enum(ROLES)
export const advertiserRole = z.enum(ADVERTISER_ROLES)
export const name = nameWithout(nameProblemOf)
export const personName = nameWithout(personNameProblemOf)
function nameWithout(problemOf: (text: string) => string | undefined) {
  return z
    .string()
    .trim()
    .superRefine((text, context) => {
      const problem = problemOf(text)
      if (problem !== undefined) context.addIssue(problem)
    })
}
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254, 'At most 254 characters.')
  .pipe(z.email('Enter an email address like editor@example.com.'))
export const done = z.object({ done: z.literal(true) })
/** Where a list goes on: what an earlier page gave as `next`. */
export const after = z.string().max(500).optional()
export const limit = z.coerce.number().int().min(1).max(200).default(50)

/** A file of many rows is made while it is sent. */
export const rows = z.custom<AsyncIterable<string>>((value) => Symbol.asyncIterator in Object(value))

/** The same for each class of tokens. */
export function forEachClass<Item extends z.ZodType>(item: Item) {
  return z.object(perClass(() => item))
}
export const tokens = forEachClass(count)

export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next: z.string().nullable() })
}
