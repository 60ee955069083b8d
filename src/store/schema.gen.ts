// Generated from migrations/ by `node scripts/db-types.ts`. Do not edit: change a migration and generate again.
import type { Generated } from 'kysely'

export interface Accounts {
  id: string
  kind: string
  project_id: string | null
  created_at: Generated<Date>
}

export interface AdvertiserDays {
  advertiser_id: string
  dimension: string
  day: Date
  campaign_id: string
  value: string
  event: string
  times: number
  spent_nanos: Generated<bigint>
}

export interface AdvertiserDaysProgress {
  one: Generated<boolean>
  through: Date | null
  changes_through: Date | null
}

export interface AdvertiserMembers {
  advertiser_id: string
  user_id: string
  role: string
  created_at: Generated<Date>
}

export interface AdvertiserOfferMonths {
  advertiser_id: string
  month: Date
  offer_id: string
  campaign_id: string
  served_until: number[]
}

export interface AdvertiserPayments {
  session_id: string
  advertiser_id: string
  amount_nanos: bigint
  tax_nanos: Generated<bigint>
  currency: string
  state: Generated<string>
  payment_intent: string | null
  problem: string | null
  created_at: Generated<Date>
  paid_at: Date | null
}

export interface AdvertiserPeople {
  advertiser_id: string | null
  user_id: string | null
  role: string | null
  created_at: Date | null
  name: string | null
  email: string | null
  two_factor_enabled: boolean | null
}

export interface AdvertiserWallets {
  advertiser_id: string
  balance_nanos: Generated<bigint>
}

export interface Advertisers {
  id: string
  name: string
  legal_name: string | null
  domain: string
  status: Generated<string>
  created_at: Generated<Date>
  adds_click_id: Generated<boolean>
  conversion_key_digest: Buffer | null
  domain_token: Generated<string>
  domain_verified_at: Date | null
  domain_proven_by: string | null
  tracking_template: string | null
}

export interface AlertRules {
  project_id: string
  kind: string
  enabled: boolean
  threshold: bigint | null
}

export interface Alerts {
  id: string
  project_id: string
  kind: string
  subject: string
  facts: unknown
  opened_at: Generated<Date>
  closed_at: Date | null
  told: Generated<boolean>
  mailed_at: Generated<Date[]>
}

export interface AppliedFunctions {
  name: string
  checksum: string
  applied_at: Generated<Date>
  definition_digest: string | null
}

export interface AuditCheckpoint {
  only_row: Generated<boolean>
  through: Date
  charges: bigint
  full_at: Date
  findings: unknown
}

export interface AuditLog {
  publisher_id: string
  seq: bigint
  at: Generated<Date>
  actor_id: string | null
  actor: string
  action: string
  subject: string | null
  project_id: string | null
  ip: string | null
  user_agent: string | null
  details: Generated<unknown>
  previous_digest: Buffer
  digest: Buffer
}

export interface AuditSums {
  account_id: string
  entries_nanos: string
}

export interface AutoTopUps {
  project_id: string
  threshold_nanos: bigint
  amount_nanos: bigint
  month_max_nanos: bigint
  declines: Generated<number>
  next_try_at: Date | null
  paused_at: Date | null
  untold_failure: string | null
}

export interface AvailabilityDays {
  starts_at: Date
  kind: string
  name: string
  calls: bigint
  failures: bigint
  callers: bigint
  failed_for: bigint
}

export interface AvailabilitySlots {
  starts_at: Date
  kind: string
  name: string
  calls: bigint
  failures: bigint
  callers: bigint
  failed_for: bigint
  first_tokens: number[]
}

export interface BrowserSessions {
  id: string
  project_id: string
  key_pair_id: string
  secret_digest: Buffer
  secret_version: number
  secret_last4: string
  end_user_id: string | null
  models: string[] | null
  max_tokens: number | null
  origins: string[] | null
  calls_max: number
  calls_made: Generated<number>
  created_at: Generated<Date>
  expires_at: Date
  network_tag: Buffer | null
}

export interface CallMetadata {
  project_id: string
  call_id: string
  key: string
  value: string
  conversation_id: string | null
  end_user_id: string | null
  expires_at: Date
  long_value: string | null
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
  end_user_id: string | null
  session_id: string | null
  endpoint: string | null
  recommendation_outcome: string | null
}

export interface CampaignChances {
  campaign_id: string
  day: Date
  open: bigint
  fitted: bigint
  contended: bigint
  won: bigint
}

export interface CampaignDays {
  campaign_id: string
  day: Date
  spent_nanos: Generated<bigint>
  clicks: Generated<number>
}

export interface CampaignTotals {
  campaign_id: string
  spent_nanos: Generated<bigint>
}

export interface Campaigns {
  id: string
  advertiser_id: string
  name: string
  status: Generated<string>
  starts_at: Date | null
  ends_at: Date | null
  bid_nanos: bigint
  daily_budget_nanos: bigint | null
  total_budget_nanos: bigint | null
  context_hints: Generated<string[]>
  negative_hints: Generated<string[]>
  created_at: Generated<Date>
  pacing: Generated<string>
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

export interface ClickDays {
  project_id: string
  day: Date
  verdict: string
  clicks: bigint
  share_nanos: bigint
  taken_back: bigint
  taken_back_nanos: bigint
}

export interface ClickSalts {
  day: Date
  salt: Buffer
}

export interface Clicks {
  id: string
  recommendation_id: string
  project_id: string
  advertiser_id: string
  campaign_id: string
  offer_id: string
  verdict: string
  price_nanos: Generated<bigint>
  share_nanos: Generated<bigint>
  state: Generated<string>
  network_tag: Buffer | null
  written_at: Generated<Date>
  reversed_at: Date | null
}

export interface ConversationRestraints {
  project_id: string
  digest: Buffer
  turns: Generated<number>
  is_sensitive: Generated<boolean>
  served: Generated<number>
  last_turn: number | null
  offers: Generated<string[]>
  advertisers: Generated<string[]>
  expires_at: Date
}

export interface ConversationSums {
  project_id: string
  conversation_id: string
  calls: bigint
  input_tokens: bigint
  output_tokens: bigint
  charged_nanos: bigint
  clicks: Generated<number>
  earned_nanos: Generated<bigint>
}

export interface Conversations {
  project_id: string
  id: string
  created_at: Generated<Date>
  last_call_at: Generated<Date>
  calls: Generated<number>
  deleted_at: Date | null
  opening_messages: number | null
  opening_digest: Buffer | null
}

export interface Conversions {
  id: string
  advertiser_id: string
  event_id: string
  click_id: string
  campaign_id: string | null
  offer_id: string | null
  verdict: string
  amount: string
  currency: string
  happened_at: Date
  created_at: Generated<Date>
}

export interface Credentials {
  id: string
  user_id: string
  account_id: string
  provider_id: string
  access_token: string | null
  refresh_token: string | null
  id_token: string | null
  access_token_expires_at: Date | null
  refresh_token_expires_at: Date | null
  scope: string | null
  password: string | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
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
  extra_body: unknown
}

export interface Domains {
  project_id: string
  name: string
  verification_token: string
  verified_at: Date | null
  created_at: Generated<Date>
  proven_by: string | null
  pending_since: Generated<Date>
  failing_since: Date | null
  lapsed_at: Date | null
  checked_at: Date | null
  next_check_at: Generated<Date | null>
  misses: Generated<number>
  findings: unknown
}

export interface Earnings {
  project_id: string
  account_id: string
  share_bps: Generated<number>
  pending_nanos: Generated<bigint>
  released_nanos: Generated<bigint>
  taken_back_nanos: Generated<bigint>
}

export interface Encoders {
  model: string
  used_at: Generated<Date>
}

export interface EndUserDays {
  project_id: string
  end_user_id: string
  starts_at: Date
  calls: bigint
  tokens: bigint
  charged_nanos: bigint
}

export interface EndUserErasures {
  project_id: string
  end_user_id: string
  erased_at: Date
}

export interface EndUsers {
  project_id: string
  id: string
  label: string | null
  first_seen_at: Date
  last_seen_at: Date
}

export interface FeedRuns {
  id: string
  feed_id: string
  format: string
  state: Generated<string>
  reason: string | null
  rows_read: Generated<bigint>
  added: Generated<bigint>
  changed: Generated<bigint>
  unchanged: Generated<bigint>
  rejected: Generated<bigint>
  removed: Generated<bigint>
  missing: Generated<bigint>
  rejections: Generated<unknown>
  started_at: Generated<Date>
  finished_at: Date | null
}

export interface FeedUploads {
  id: string
  advertiser_id: string
  campaign_id: string
  feed: string
  currency: string | null
  file_name: string
  file: Buffer | null
  state: Generated<string>
  is_removal_confirmed: Generated<boolean>
  due_at: Generated<Date | null>
  report: unknown
  problem: string | null
  created_at: Generated<Date>
}

export interface Feeds {
  id: string
  advertiser_id: string
  campaign_id: string
  name: string
  expires_at: Date | null
  created_at: Generated<Date>
  source_url: string | null
  fetch_every: string | null
  currency: string | null
  next_fetch_at: Date | null
  last_fetch_at: Date | null
  last_fetch: string | null
  last_error: string | null
  failures: Generated<number>
  etag: string | null
  last_modified: string | null
  is_paused: Generated<boolean>
  is_removal_confirmed: Generated<boolean>
  removed_at: Date | null
}

export interface Gateways {
  id: string
  started_at: Generated<Date>
  beat_at: Generated<Date>
  secret_versions: number[] | null
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
  end_user_id: string | null
  counts: bigint[] | null
  session_id: string | null
  endpoint: string | null
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

export interface IgnoredFields {
  project_id: string
  day: Date
  name: string
  times: bigint
  last_at: Date
}

export interface Invitations {
  id: string
  publisher_id: string | null
  email: string
  role: string
  invited_by: string
  created_at: Generated<Date>
  expires_at: Date
  inviter_id: string
  advertiser_id: string | null
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
  created_by: string | null
  replaced_by: string | null
  deleted_at: Date | null
  purpose: Generated<string>
  counted_as: string | null
}

export interface LimitCounts {
  id: Generated<bigint>
  scope: string
  subject: string
  project_id: string | null
  held_nanos: Generated<bigint>
  open_holds: Generated<number>
  minute_started_at: Generated<Date>
  minute_requests: Generated<number>
  minute_tokens: Generated<bigint>
  day_started_at: Generated<Date>
  day_nanos: Generated<bigint>
  week_started_at: Generated<Date>
  week_nanos: Generated<bigint>
  month_started_at: Generated<Date>
  month_nanos: Generated<bigint>
  total_nanos: Generated<bigint>
}

export interface LimitStates {
  id: bigint | null
  scope: string | null
  subject: string | null
  project_id: string | null
  requests_per_minute: number | null
  tokens_per_minute: bigint | null
  concurrent_calls: number | null
  day_nanos: bigint | null
  week_nanos: bigint | null
  month_nanos: bigint | null
  total_nanos: bigint | null
  held_nanos: bigint | null
  open_holds: number | null
  minute_requests: number | null
  minute_tokens: bigint | null
  day_spent: bigint | null
  week_spent: bigint | null
  month_spent: bigint | null
  total_spent: bigint | null
  left_nanos: bigint | null
  tightest_budget: string | null
}

export interface Limits {
  scope: string
  subject: string
  publisher_id: string
  project_id: string | null
  requests_per_minute: number | null
  tokens_per_minute: bigint | null
  concurrent_calls: number | null
  day_nanos: bigint | null
  week_nanos: bigint | null
  month_nanos: bigint | null
  total_nanos: bigint | null
}

export interface Mails {
  id: string
  recipient: string
  template: string
  sealed_body: string | null
  attempts: Generated<number>
  next_attempt_at: Generated<Date>
  sent_at: Date | null
  given_up_at: Date | null
  created_at: Generated<Date>
}

export interface Matchers {
  id: string
  host: string
  state: string
  problem: string | null
  offers: Generated<bigint>
  beat_at: Generated<Date>
}

export interface Members {
  publisher_id: string | null
  user_id: string | null
  role: string | null
  created_at: Date | null
  name: string | null
  email: string | null
  two_factor_enabled: boolean | null
}

export interface Memberships {
  publisher_id: string
  user_id: string
  role: string
  created_at: Generated<Date>
}

export interface MessageWords {
  project_id: string
  conversation_id: string
  digest: Buffer
  occurrence: number
  seq: bigint
  words: bigint[]
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
  oldest_program: string | null
}

export interface Models {
  id: string
  owned_by: string
  context_window: number | null
  max_output_tokens: number | null
  enabled: Generated<boolean>
  created_at: Generated<Date>
  margin_bps: Generated<number>
  image_tokens: number | null
  file_tokens: number | null
  tool_tokens: number | null
  reasoning_tokens: number | null
  kind: Generated<string>
}

export interface Monetization {
  project_id: string
  mode: Generated<string>
  label: Generated<string>
  format: Generated<string>
  audience: Generated<string>
  min_relevance: Generated<number>
  first_turn: Generated<number>
  min_turn_gap: Generated<number>
  max_per_conversation: Generated<number>
  floor_nanos: Generated<bigint>
  blocked_categories: Generated<string[]>
  blocked_advertisers: Generated<string[]>
  blocked_domains: Generated<string[]>
  excluded_topics: Generated<string[]>
  changed_at: Generated<Date>
  is_library_public: Generated<boolean>
}

export interface OfferStops {
  project_id: string
  offer_id: string
  stopped_at: Generated<Date>
}

export interface Offers {
  id: string
  advertiser_id: string
  campaign_id: string
  feed_id: string
  item_id: string
  item_group_id: string | null
  title: string
  description: Generated<string>
  brand: string | null
  link: string
  image_link: string | null
  price: string | null
  currency: string | null
  availability: Generated<string>
  condition: string | null
  gtin: string | null
  category: Generated<string>
  language: Generated<string>
  headline: string
  benefit: Generated<string>
  review: Generated<string>
  review_reason: string | null
  reviewed_at: Date | null
  content_hash: Buffer
  text_hash: Buffer
  missing_runs: Generated<number>
  removed_at: Date | null
  changed_in: Generated<string>
  created_at: Generated<Date>
}

export interface Passkeys {
  id: string
  user_id: string
  name: string
  credential_id: string
  public_key: Buffer
  counter: bigint
  transports: Generated<string[]>
  created_at: Generated<Date>
  last_used_at: Date | null
}

export interface PaymentReturns {
  id: string
  payment_intent: string
  kind: string
  amount_nanos: bigint
  settled_nanos: Generated<bigint>
  created_at: Generated<Date>
  told_at: Generated<Date>
  stage: Generated<number>
  reinstated: Generated<boolean>
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
  is_automatic: Generated<boolean>
  customer_id: string | null
  payment_method_id: string | null
  failure: string | null
  saves_card: Generated<boolean>
  tax_nanos: Generated<bigint>
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
  archived_at: Date | null
  onboarding_dismissed_at: Date | null
  is_sandbox: Generated<boolean>
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
  unsupported_fields: Generated<unknown>
}

export interface PublicFigures {
  only_row: Generated<boolean>
  calls: bigint | null
  first_token_ms: number | null
  added_up_at: Date
}

export interface Publishers {
  id: string
  name: string
  email: string | null
  activated_at: Date | null
  created_at: Generated<Date>
  confirmation_awaited_from: string | null
  trial_credit_nanos: Generated<bigint>
}

export interface RecommendationDays {
  project_id: string
  day: Date
  advertiser_id: string
  category: string
  shown: bigint
  clicks: bigint
  earned_nanos: bigint
}

export interface RecommendationOutcomes {
  project_id: string
  hour: Date
  outcome: string
  calls: bigint
}

export interface RecommendationReports {
  recommendation_id: string
  project_id: string
  offer_id: string
  reason: string | null
  network_tag: Buffer
  created_at: Generated<Date>
  resolved_at: Date | null
}

export interface RecommendationSwitch {
  one: Generated<boolean>
  is_on: Generated<boolean>
  changed_at: Generated<Date>
}

export interface Recommendations {
  id: string
  project_id: string
  call_id: string
  advertiser_id: string
  campaign_id: string
  offer_id: string
  turn: number
  price_nanos: bigint
  relevance: number
  label: string
  state: string
  created_at: Generated<Date>
  link: string | null
  headline: string | null
  network_tag: Buffer | null
  hint: string | null
  daily_budget_nanos: bigint | null
  total_budget_nanos: bigint | null
}

export interface RefusedRequests {
  id: string
  project_id: string
  key_pair_id: string
  via_session: boolean
  status: number
  code: string
  message: string
  param: string | null
  endpoint: string
  model: string | null
  times: bigint
  last_at: Date
}

export interface RetentionCuts {
  project_id: string
  days: number
  reached: Generated<string>
  due_at: Generated<Date>
  is_last: Generated<boolean>
}

export interface SavedPrompts {
  id: string
  project_id: string
  name: string
  model: string
  content: unknown
  saved_by: string | null
  saved_at: Generated<Date>
}

export interface SealedDays {
  day: Date
  charges: bigint
  fingerprint: bigint
  sealed_at: Generated<Date>
  archived_at: Date | null
}

export interface SealedSums {
  day: Date
  account_id: string
  charged_nanos: string
}

export interface SecretVersions {
  version: number
  check_value: Buffer
  digest_keys: string
  recorded_at: Generated<Date>
}

export interface Sessions {
  id: string
  user_id: string
  token: string
  expires_at: Date
  ip_address: string | null
  user_agent: string | null
  created_at: Generated<Date>
  updated_at: Generated<Date>
  proven_at: Generated<Date>
}

export interface TenantKey {
  only_row: Generated<boolean>
  key: Buffer
  inner_block: Buffer
  outer_block: Buffer
}

export interface TextVectors {
  model: string
  digest: Buffer
  vector: Buffer
}

export interface Throttles {
  subject: Buffer
  started_at: Generated<Date>
  attempts: Generated<number>
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

export interface TrialClaims {
  digest: Buffer
  granted_at: Generated<Date>
}

export interface TwoFactors {
  id: string
  user_id: string
  secret: string
  backup_codes: string
  verified: Generated<boolean>
  failed_verification_count: Generated<number>
  locked_until: Date | null
}

export interface UsageAnomalies {
  call_id: string
  project_id: string
  model_id: string
  provider: string
  anomalies: string[]
  reported: unknown
  created_at: Generated<Date>
}

export interface UsageDays {
  project_id: string
  starts_at: Date
  model_id: string
  key_pair_id: string
  price_version_id: bigint
  calls: bigint
  streamed: bigint
  input_tokens: bigint
  cached_input_tokens: bigint
  cache_write_tokens: bigint
  output_tokens: bigint
  reasoning_tokens: bigint
  charged_nanos: bigint
  billed_calls: bigint
  billed_worth_nanos: bigint
  billed_input_tokens: bigint
  billed_cached_input_tokens: bigint
  billed_cache_write_tokens: bigint
  billed_output_tokens: bigint
  billed_reasoning_tokens: bigint
  outcomes: number[]
  statuses: number[]
  first_tokens: number[]
  durations: number[]
}

export interface UsageHours {
  project_id: string
  starts_at: Date
  model_id: string
  key_pair_id: string
  price_version_id: bigint
  calls: bigint
  streamed: bigint
  input_tokens: bigint
  cached_input_tokens: bigint
  cache_write_tokens: bigint
  output_tokens: bigint
  reasoning_tokens: bigint
  charged_nanos: bigint
  billed_calls: bigint
  billed_worth_nanos: bigint
  billed_input_tokens: bigint
  billed_cached_input_tokens: bigint
  billed_cache_write_tokens: bigint
  billed_output_tokens: bigint
  billed_reasoning_tokens: bigint
  outcomes: number[]
  statuses: number[]
  first_tokens: number[]
  durations: number[]
}

export interface UsageProgress {
  only_row: Generated<boolean>
  through: Date | null
}

export interface Users {
  id: string
  name: string
  email: string
  email_verified: Generated<boolean>
  image: string | null
  two_factor_enabled: Generated<boolean>
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

export interface Verifications {
  id: string
  identifier: string
  value: string
  expires_at: Date
  created_at: Generated<Date>
  updated_at: Generated<Date>
}

export interface WalletAlerts {
  project_id: string
  threshold_nanos: bigint
  told_at: Date | null
}

export interface WalletCards {
  payment_method_id: string
  project_id: string
  customer_id: string
  brand: string
  last4: string
  exp_month: number
  exp_year: number
  saved_at: Generated<Date>
  removed_at: Date | null
}

export interface Wallets {
  project_id: string
  balance_nanos: Generated<bigint>
  held_nanos: Generated<bigint>
  open_holds: Generated<number>
  minute_started_at: Generated<Date>
  minute_requests: Generated<number>
  minute_tokens: Generated<bigint>
  owed_nanos: Generated<bigint>
  has_limits: Generated<boolean>
}

export interface WebhookDeliveries {
  id: string
  seq: Generated<bigint>
  event_id: string
  endpoint_id: string
  project_id: string
  object_key: string
  state: Generated<string>
  attempts: Generated<number>
  next_attempt_at: Generated<Date>
  gives_up_at: Date
  leased_until: Date | null
  last_attempt_at: Date | null
  last_status: number | null
  last_error: string | null
}

export interface WebhookEndpoints {
  id: string
  project_id: string
  url: string
  event_types: string[]
  sealed_secret: string
  old_sealed_secret: string | null
  old_secret_ends_at: Date | null
  enabled: Generated<boolean>
  off_because: string | null
  failing_since: Date | null
  created_at: Generated<Date>
}

export interface WebhookEvents {
  id: string
  project_id: string
  type: string
  body: string
  created_at: Generated<Date>
}

export interface Database {
  accounts: Accounts
  advertiser_days: AdvertiserDays
  advertiser_days_progress: AdvertiserDaysProgress
  advertiser_members: AdvertiserMembers
  advertiser_offer_months: AdvertiserOfferMonths
  advertiser_payments: AdvertiserPayments
  advertiser_people: AdvertiserPeople
  advertiser_wallets: AdvertiserWallets
  advertisers: Advertisers
  alert_rules: AlertRules
  alerts: Alerts
  applied_functions: AppliedFunctions
  audit_checkpoint: AuditCheckpoint
  audit_log: AuditLog
  audit_sums: AuditSums
  auto_top_ups: AutoTopUps
  availability_days: AvailabilityDays
  availability_slots: AvailabilitySlots
  browser_sessions: BrowserSessions
  call_metadata: CallMetadata
  calls: Calls
  campaign_chances: CampaignChances
  campaign_days: CampaignDays
  campaign_totals: CampaignTotals
  campaigns: Campaigns
  catalogue_version: CatalogueVersion
  charges: Charges
  click_days: ClickDays
  click_salts: ClickSalts
  clicks: Clicks
  conversation_restraints: ConversationRestraints
  conversation_sums: ConversationSums
  conversations: Conversations
  conversions: Conversions
  credentials: Credentials
  deployments: Deployments
  domains: Domains
  earnings: Earnings
  encoders: Encoders
  end_user_days: EndUserDays
  end_user_erasures: EndUserErasures
  end_users: EndUsers
  feed_runs: FeedRuns
  feed_uploads: FeedUploads
  feeds: Feeds
  gateways: Gateways
  holds: Holds
  idempotency_keys: IdempotencyKeys
  ignored_fields: IgnoredFields
  invitations: Invitations
  journal: Journal
  key_pairs: KeyPairs
  limit_counts: LimitCounts
  limit_states: LimitStates
  limits: Limits
  mails: Mails
  matchers: Matchers
  members: Members
  memberships: Memberships
  message_words: MessageWords
  messages: Messages
  migrations: Migrations
  models: Models
  monetization: Monetization
  offer_stops: OfferStops
  offers: Offers
  passkeys: Passkeys
  payment_returns: PaymentReturns
  payments: Payments
  price_versions: PriceVersions
  projects: Projects
  provider_keys: ProviderKeys
  providers: Providers
  public_figures: PublicFigures
  publishers: Publishers
  recommendation_days: RecommendationDays
  recommendation_outcomes: RecommendationOutcomes
  recommendation_reports: RecommendationReports
  recommendation_switch: RecommendationSwitch
  recommendations: Recommendations
  refused_requests: RefusedRequests
  retention_cuts: RetentionCuts
  saved_prompts: SavedPrompts
  sealed_days: SealedDays
  sealed_sums: SealedSums
  secret_versions: SecretVersions
  sessions: Sessions
  tenant_key: TenantKey
  text_vectors: TextVectors
  throttles: Throttles
  transfers: Transfers
  trial_claims: TrialClaims
  two_factors: TwoFactors
  usage_anomalies: UsageAnomalies
  usage_days: UsageDays
  usage_hours: UsageHours
  usage_progress: UsageProgress
  users: Users
  verifications: Verifications
  wallet_alerts: WalletAlerts
  wallet_cards: WalletCards
  wallets: Wallets
  webhook_deliveries: WebhookDeliveries
  webhook_endpoints: WebhookEndpoints
  webhook_events: WebhookEvents
}
