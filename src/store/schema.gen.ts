// Generated from migrations/ by `node scripts/db-types.ts`. Do not edit: change a migration and generate again.
import type { Generated } from 'kysely'

export interface Accounts {
  id: string
  kind: string
  project_id: string | null
  created_at: Generated<Date>
}

export interface AuditCheckpoint {
  only_row: Generated<boolean>
  through: Date
  charges: bigint
  full_at: Date
  findings: unknown
}

export interface AuditSums {
  account_id: string
  entries_nanos: string
}

export interface Calls {
  id: string
  project_id: string
  key_pair_id: string
  model_id: string
  deployment_id: string | null
  conversation_id: string | null
  request_id: string
  streamed: boolean
  status: number
  outcome: string
  finish_reason: string | null
  error_code: string | null
  first_token_ms: number | null
  duration_ms: number
  attempts: unknown
  created_at: Generated<Date>
}

export interface CatalogueVersion {
  only_row: Generated<boolean>
  version: Generated<bigint>
}

export interface Charges {
  id: string
  project_id: string
  key_pair_id: string
  model_id: string
  price_version_id: bigint
  gateway_id: string
  held_nanos: bigint
  usage_nanos: bigint
  charged_nanos: bigint
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  output_tokens: number
  reasoning_tokens: number
  usage_source: string
  outcome: string
  held_at: Date
  settled_at: Generated<Date>
}

export interface Conversations {
  project_id: string
  id: string
  created_at: Generated<Date>
  last_call_at: Generated<Date>
  calls: Generated<number>
  deleted_at: Date | null
}

export interface Deployments {
  id: string
  model_id: string
  provider_id: string
  upstream_model: string
  position: Generated<number>
  unsupported_fields: Generated<string[]>
  connect_timeout_ms: number | null
  first_token_timeout_ms: number | null
  idle_timeout_ms: number | null
  total_timeout_ms: number | null
  cost_input: bigint | null
  cost_cached_input: bigint | null
  cost_cache_write: bigint | null
  cost_output: bigint | null
  cost_reasoning: bigint | null
  enabled: Generated<boolean>
  created_at: Generated<Date>
  weight: Generated<number>
}

export interface Domains {
  project_id: string
  name: string
  verification_token: string
  verified_at: Date | null
  created_at: Generated<Date>
}

export interface Gateways {
  id: string
  started_at: Generated<Date>
  beat_at: Generated<Date>
}

export interface Holds {
  id: string
  project_id: string
  key_pair_id: string
  model_id: string
  price_version_id: bigint
  gateway_id: string
  amount_nanos: bigint
  extension: Generated<number>
  held_at: Generated<Date>
}

export interface IdempotencyKeys {
  project_id: string
  key_digest: Buffer
  body_digest: Buffer
  call_id: string
  gateway_id: string
  conversation_id: string | null
  result: string | null
  created_at: Generated<Date>
}

export interface Journal {
  id: string | null
  account_id: string | null
  delta_nanos: bigint | null
  kind: string | null
  created_at: Date | null
}

export interface KeyPairs {
  id: string
  project_id: string
  name: string
  publishable_key: string
  secret_digest: Buffer
  secret_version: number
  secret_last4: string
  active: Generated<boolean>
  expires_at: Date | null
  last_used_at: Date | null
  created_at: Generated<Date>
}

export interface Messages {
  project_id: string
  conversation_id: string
  digest: Buffer
  occurrence: number
  seq: Generated<bigint>
  role: string
  content: unknown
  call_id: string
  created_at: Generated<Date>
  content_expires_at: Date | null
}

export interface Migrations {
  name: string
  checksum: string
  applied_at: Generated<Date>
}

export interface Models {
  id: string
  owned_by: string
  context_window: number | null
  max_output_tokens: number | null
  enabled: Generated<boolean>
  created_at: Generated<Date>
  margin_bps: Generated<number>
}

export interface PaymentReturns {
  id: string
  payment_intent: string
  kind: string
  amount_nanos: bigint
  settled_nanos: Generated<bigint>
  created_at: Generated<Date>
}

export interface Payments {
  session_id: string
  project_id: string
  amount_nanos: bigint
  currency: string
  state: Generated<string>
  payment_intent: string | null
  problem: string | null
  created_at: Generated<Date>
  paid_at: Date | null
}

export interface PriceVersions {
  id: Generated<bigint>
  model_id: string
  input: bigint
  cached_input: bigint
  cache_write: bigint
  output: bigint
  reasoning: bigint
  effective_from: Generated<Date>
  created_at: Generated<Date>
  source: string | null
}

export interface Projects {
  id: string
  publisher_id: string
  name: string
  allowed_models: string[] | null
  content_retention_days: Generated<number>
  requests_per_minute: number | null
  tokens_per_minute: bigint | null
  concurrent_calls: number | null
  created_at: Generated<Date>
}

export interface ProviderKeys {
  id: string
  provider_id: string
  name: string
  sealed_key: string
  last4: string | null
  enabled: Generated<boolean>
  rejected_at: Date | null
  rejected_status: number | null
  created_at: Generated<Date>
}

export interface Providers {
  id: string
  name: string
  kind: string
  base_url: string
  enabled: Generated<boolean>
  created_at: Generated<Date>
  settings: Generated<unknown>
}

export interface Publishers {
  id: string
  name: string
  email: string | null
  activated_at: Date | null
  created_at: Generated<Date>
}

export interface Transfers {
  id: string
  debit_account: string
  credit_account: string
  amount_nanos: bigint
  kind: string
  reference: string
  reason: string | null
  corrects: string | null
  created_at: Generated<Date>
}

export interface Wallets {
  project_id: string
  balance_nanos: Generated<bigint>
  held_nanos: Generated<bigint>
  open_holds: Generated<number>
  minute_started_at: Generated<Date>
  minute_requests: Generated<number>
  minute_tokens: Generated<bigint>
}

export interface Database {
  accounts: Accounts
  audit_checkpoint: AuditCheckpoint
  audit_sums: AuditSums
  calls: Calls
  catalogue_version: CatalogueVersion
  charges: Charges
  conversations: Conversations
  deployments: Deployments
  domains: Domains
  gateways: Gateways
  holds: Holds
  idempotency_keys: IdempotencyKeys
  journal: Journal
  key_pairs: KeyPairs
  messages: Messages
  migrations: Migrations
  models: Models
  payment_returns: PaymentReturns
  payments: Payments
  price_versions: PriceVersions
  projects: Projects
  provider_keys: ProviderKeys
  providers: Providers
  publishers: Publishers
  transfers: Transfers
  wallets: Wallets
}
