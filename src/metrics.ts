import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const MATCH_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.1, 0.25, 1]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/**
 * Everything that is measured, of every plane, with its labels: bounded sets only (models, outcomes, codes), never ids of
 * callers. A new metric is a line here. Planes get it from the wiring and import only the type.
 */
export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `parley_${name}`, help, labelNames, registers })
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `parley_${name}`, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    new Histogram({ name: `parley_${name}`, help, buckets, labelNames, registers })

  collectDefaultMetrics({ register: registry, prefix: 'parley_' })
  return {
    registry,
    ...recommendationMetrics({ counter, gauge, histogram }),
    ...jobMetrics({ counter, gauge }),
    ...ledgerMetrics({ counter, gauge, histogram }),
    requests: counter('requests_total', 'Answered requests.', 'route', 'status'),
    errors: counter('errors_total', 'Refusals and failures, by error code.', 'code'),
    refusedNoted: counter('refused_noted_total', 'Refused requests that publishers can see under Refused requests.'),
    refusedDropped: counter('refused_dropped_total', 'Refused requests of publishers that were not noted.', 'why'),
    intakeRefusals: counter('intake_refusals_total', 'Requests refused before their body was read.', 'reason'),
    bodyBytes: gauge('body_bytes', 'Memory reserved for the bodies of calls in flight.'),
    callsRunning: gauge('calls_running', 'Completions in progress.'),
    outcomes: counter('outcomes_total', 'How calls that held credit ended.', 'outcome', 'model'),
    firstToken: histogram('first_token_seconds', 'Time to the first chunk of an answer.', LATENCY_BUCKETS, 'model'),
    duration: histogram('call_seconds', 'Time from request to the end of the answer.', LATENCY_BUCKETS, 'model'),
    upstreamAttempts: counter('upstream_attempts_total', 'Attempts at providers by end.', 'provider', 'kind'),
    upstreamRateLimited: counter('upstream_rate_limited_total', 'Answers 429 by provider key.', 'provider', 'key'),
    oddEndings: counter('odd_endings_total', 'Answers whose end nobody asks for, or knows.', 'provider', 'model'),
    failovers: counter('failovers_total', 'Attempts at another deployment after one had failed.', 'model'),
    breakerState: gauge(
      'breaker_state',
      'Whether a deployment is used: 0 closed (yes), 1 half open (by a probe), 2 open (no, at least for one publisher).',
      'provider',
      'model',
      'deployment',
    ),
    keyDisabled: gauge('provider_key_disabled', '1 while a provider refuses this key.', 'provider', 'key'),
    concurrencyLimit: gauge(
      'upstream_concurrency_limit',
      'Concurrent calls that a provider bears. Absent: no limit was met.',
      'provider',
      'key',
      'deployment',
    ),
    usageEstimated: counter('usage_estimated_total', 'Charges from our own count: none was reported.', 'model'),
    usageAnomalies: counter(
      'usage_anomalies_total',
      'Reports of usage that cannot be right.',
      'provider',
      'model',
      'kind',
    ),
    anomalousCalls: gauge('anomalous_calls', 'Calls of the last hour with such reports.', 'provider', 'kind'),
    anomalousProjects: gauge('anomalous_projects', 'Projects that they belong to.', 'provider', 'kind'),
    chargedNanos: counter('charged_nanos_total', 'Charged to publishers.', 'model'),
    lostNanos: counter('lost_nanos_total', 'Worth of tokens that no one paid for.', 'outcome'),
    clientAborts: counter('client_aborts_total', 'Callers that hung up, by phase.', 'phase'),
    slowReaders: counter('slow_readers_total', 'Callers cut off because they stopped reading.'),
    consoleWaiting: gauge('console_waiting', 'Requests of the console that wait for their turn.', 'share'),
    consoleDeclined: counter('console_declined_total', 'Requests beyond the share of a user or a network.', 'share'),
    webhookRejects: counter('webhook_rejects_total', 'Payment events that were not honoured.', 'why'),
    draining: gauge('draining', '1 while this process finishes its calls and takes no new ones.'),
    conversationsDropped: counter('conversation_writes_dropped_total', 'Conversation writes given up.'),
    messagesOverBudget: counter('messages_over_budget_total', 'Turns whose text was beyond the day of a project.'),
    metadataDropped: counter('metadata_writes_dropped_total', 'Metadata of calls given up.'),
    metadataOverBudget: counter('metadata_over_budget_total', 'Calls whose metadata was beyond the day of a project.'),
    messagesExpired: counter('messages_expired_total', 'Messages whose text was erased by retention.'),
  }
}

interface Instruments {
  counter(name: string, help: string, ...labelNames: string[]): Counter
  gauge(name: string, help: string, ...labelNames: string[]): Gauge
  histogram(name: string, help: string, buckets: number[], ...labelNames: string[]): Histogram
}

function ledgerMetrics({ counter, gauge, histogram }: Instruments) {
  return {
    ledgerBatch: histogram('ledger_batch_items', 'Holds, extensions and settles per statement.', BATCH_BUCKETS),
    ledgerSeconds: histogram('ledger_seconds', 'Time of one ledger statement.', LATENCY_BUCKETS),
    holdsOrphaned: counter('holds_orphaned_total', 'Own holds released because no running call had them.'),
    holdsSwept: counter('holds_swept_total', 'Holds released because their gateway died.'),
    auditViolations: gauge('audit_violations', 'What breaks an invariant of the ledger. Never above 0.', 'invariant'),
    auditSeconds: gauge('audit_seconds', 'Time of the last audit of its kind.', 'pass'),
    auditFinished: gauge('audit_finished_timestamp_seconds', 'When the ledger was last audited.'),
    partitionDaysAhead: gauge(
      'partition_days_ahead',
      'Days after today that have their partitions. At -1 every call is refused.',
    ),
  }
}

function recommendationMetrics({ counter, gauge, histogram }: Instruments) {
  return {
    recommendations: counter('recommendations_total', 'Why a reply had a recommendation or had none.', 'outcome'),
    clicks: counter('clicks_total', 'Clicks on recommendations.', 'outcome'),
    clicksDropped: counter('clicks_dropped_total', 'Clicks that were redirected and not stored.', 'why'),
    dataCentreNetworks: gauge(
      'data_centre_networks',
      'Networks of data centres that are known. At 0, clicks from them are paid for.',
    ),
    feedFetches: counter('feed_fetches_total', 'What fetching feeds from their addresses came to.', 'outcome'),
    recommendationsDropped: counter('recommendations_dropped_total', 'Records given up because the store was away.'),
    matcherReplies: counter('matcher_replies_total', 'What gateways heard when they asked a matcher.', 'outcome'),
    matches: counter('matches_total', 'What a matcher decided.', 'outcome'),
    matchSeconds: histogram('match_seconds', 'Time of one match, without the wait for its turn.', MATCH_BUCKETS),
    matcherWaiting: gauge('matcher_waiting', 'Matches that wait for their turn.'),
    matcherDeclined: counter('matcher_declined_total', 'Questions for which a project had no place left.', 'by'),
    matcherOffers: gauge('matcher_offers', 'Offers in the index of this matcher.'),
    matcherFollowed: gauge(
      'matcher_followed_timestamp_seconds',
      'When this matcher last knew all offers of the store.',
    ),
  }
}

function jobMetrics({ counter, gauge }: Pick<Instruments, 'counter' | 'gauge'>) {
  return {
    jobPeriod: gauge('job_period_seconds', 'How often a job runs.', 'job'),
    jobSucceeded: gauge(
      'job_succeeded_timestamp_seconds',
      'When a job last succeeded; before it first did, when it was started.',
      'job',
    ),
    jobSeconds: gauge('job_seconds', 'Time of the last run of a job.', 'job'),
    jobFailures: counter('job_failures_total', 'Runs of a job that failed.', 'job'),
    rowsErased: counter('rows_erased_total', 'Rows that retention erased.', 'table'),
  }
}
