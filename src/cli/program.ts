import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { ConfigError, type LoginOf } from '../config.ts'
import { visibleText } from '../rules/visible-text.ts'
import { addAdvertiserCreditCommands } from './offers/advertiser-credit.ts'
import { addAdvertiserMemberCommands } from './offers/advertiser-members.ts'
import { addAdvertiserCommands } from './offers/advertisers.ts'
import { addConversionCommands } from './offers/conversions.ts'
import { addAnomalyCommand } from './billing/usage-anomalies.ts'
import { addArchiveCommand } from './operations/archive.ts'
import { addAuditCommand } from './billing/ledger-check.ts'
import { addCampaignCommands } from './offers/campaigns.ts'
import { addConversationCommands } from './calls/conversations.ts'
import { addDatabaseCommands } from './operations/database-logins.ts'
import { addDoctorCommand } from './doctor/doctor.ts'
import { addDomainCommands } from './projects/domains.ts'
import { addEndUserCommands } from './calls/end-users.ts'
import { CliError } from './failures.ts'
import { addIgnoredFieldsCommand } from './calls/ignored-fields.ts'
import { addBrowserSessionCommands } from './projects/browser-sessions.ts'
import { addKeyCommands } from './projects/keys.ts'
import { addLimitCommands } from './billing/limits.ts'
import { addMatcherCommands } from './operations/matcher.ts'
import { addMigrateCommand } from './operations/migrate.ts'
import { addModelCommands } from './catalogue/models.ts'
import { addFeedCommands } from './offers/feeds.ts'
import { addOfferCommands } from './offers/offers.ts'
import { addProjectCommands } from './projects/projects.ts'
import { addProviderCommands } from './catalogue/providers.ts'
import { addAuditLogCommand } from './accounts/audit-log.ts'
import { addPublisherCommands } from './accounts/publishers.ts'
import { addReceiptCommand } from './billing/receipts.ts'
import { addRefusalsCommand } from './calls/refused-requests.ts'
import { addAdvertiserReportCommand } from './offers/report.ts'
import { addRecommendationCommands } from './offers/recommendations.ts'
import { addSecretsCommands } from './operations/secrets.ts'
import { addServeCommand, type Serving } from './operations/serve.ts'
import { addWalletCommands } from './billing/wallets.ts'

const EXIT_USAGE = 2

/** Runs one command line and returns its exit code: 0, 1 for what failed, 2 for what was typed wrongly. */
export async function run<Role extends LoginOf>(argv: readonly string[], serving: Serving<Role>): Promise<number> {
  try {
    await createProgram(serving).parseAsync(argv)
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
    const isOurs = error instanceof CliError || error instanceof ConfigError
    // A message may quote what somebody else wrote.
    console.error(
      visibleText(
        isOurs ? error.message : `This is a bug in Parley: ${error instanceof Error ? error.message : 'unknown'}.`,
      ),
    )
    return 1
  }
}

export function createProgram<Role extends LoginOf>(serving: Serving<Role>): Command {
  const program = new Command('parley')
    .description('A chat-completion gateway: OpenAI wire format in, any provider behind, prepaid credit.')
    .version(versionOfPackage())
    .exitOverride()
    .configureOutput({
      outputError: (text, write) =>
        write(visibleText(text).replace(/^error: (.)/, (_, first: string) => first.toUpperCase())),
    })
    .showHelpAfterError('Run "parley --help" to see all commands.')
    .addHelpText('after', '\nEach command explains itself: parley publisher create --help')
  addServeCommand(program, serving)
  addMigrateCommand(program)
  addArchiveCommand(program)
  addDatabaseCommands(program)
  addDoctorCommand(program)
  addAuditCommand(program)
  addAnomalyCommand(program)
  addPublisherCommands(program)
  addAuditLogCommand(program)
  addProjectCommands(program)
  addDomainCommands(program)
  addKeyCommands(program)
  addBrowserSessionCommands(program)
  addWalletCommands(program)
  addLimitCommands(program)
  addProviderCommands(program)
  addModelCommands(program)
  const advertiser = addAdvertiserCommands(program)
  addAdvertiserMemberCommands(advertiser)
  addAdvertiserCreditCommands(program, advertiser)
  addConversionCommands(advertiser)
  addAdvertiserReportCommand(advertiser)
  addCampaignCommands(program)
  addOfferCommands(program)
  addFeedCommands(program)
  addRecommendationCommands(program)
  addMatcherCommands(program)
  addSecretsCommands(program)
  addConversationCommands(program)
  addEndUserCommands(program)
  addIgnoredFieldsCommand(program)
  addRefusalsCommand(program)
  addReceiptCommand(program)
  return program
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
