/** The pages under /docs. Each is a Markdown file of the repository, which is the only place where it is written. */
export interface Guide {
  /** Its address: /docs/NAME to read, /docs/NAME.md for programs. */
  name: string
  /** From the root of the repository. */
  file: string
  title: string
  /** A summary of its content, for lists. */
  about: string
}

export interface GuideGroup {
  title: string
  guides: readonly Guide[]
}

export const GUIDE_GROUPS: readonly GuideGroup[] = [
  {
    title: 'Start',
    guides: [
      guide('quick-start', 'Quick start', 'From a key pair to the first streamed answer.'),
      written(
        'sdks',
        'SDK set-up',
        'OpenAI for Node and Python, the AI SDK, LangChain, and tools with a single key field.',
      ),
      written('from-openai', 'Migrating from OpenAI', 'What to change, what stays, and what is different.'),
      written(
        'from-openrouter',
        'Migrating from OpenRouter',
        'Which fields have other names, and which have no counterpart.',
      ),
    ],
  },
  {
    title: 'Build',
    guides: [
      written(
        'streaming',
        'Streaming',
        'Read the events, show them as they arrive, and know when an answer is complete.',
      ),
      guide('errors', 'Errors', 'Every code, what it means and what to do, and which to retry.'),
      written('conversations', 'Conversations', 'Group calls, keep caches warm, and delete what was said.'),
      guide('limits', 'Limits and budgets', 'Hard limits for the account, a project, a key pair and each end user.'),
      guide('billing', 'What a call costs', 'Holds, charges, receipts, and how tokens are counted.'),
      written(
        'webhooks',
        'Alerts and webhooks',
        'Which alerts there are, and how your own server receives signed events.',
      ),
      written(
        'monetization',
        'Monetization and disclosure',
        'Let replies earn, show readers what is an ad, and switch it off.',
      ),
    ],
  },
  {
    title: 'Operate',
    guides: [
      written('self-hosting', 'Self-hosting', 'Set up a server, a database, a provider and the first publisher.'),
      written('runbook', 'At 3 a.m.', 'What broke, how to see it, and what to type.'),
      guide('security', 'Security for operators', 'Logins, secrets, the wall between publishers, and browsers.'),
      guide('scale', 'Scale', 'What one machine can do, and how to grow beyond it.'),
    ],
  },
  {
    title: 'In depth',
    guides: [
      guide('api', 'API', 'Every endpoint in words, with examples.'),
      guide('fields', 'Fields of a request', 'What each field of a request becomes at which provider.'),
      guide('console', 'The console', 'What each page of the console does.'),
      guide('recommendations', 'Recommendations', 'Advertisers, feeds, the matcher, and what is never shown.'),
      guide('advertisers', 'Advertisers', 'Campaigns, the wallet, the domain and the members of an advertiser.'),
      guide('clicks', 'Clicks', 'Which clicks on recommendations are paid for, and which are not.'),
      guide('operations', 'Operations', 'Every setting, job, table and command.'),
      guide('ledger', 'The ledger', 'What is guaranteed about money, and how.'),
      guide('benchmarks', 'Benchmarks', 'What was measured, how, and against what.'),
      guide('architecture', 'Architecture', 'How the code is laid out, and the life of a request.'),
      guide('decisions', 'Decisions', 'Why things are as they are.'),
    ],
  },
]

export const GUIDES: readonly Guide[] = GUIDE_GROUPS.flatMap(({ guides }) => guides)

export function guideNamed(name: string): Guide | undefined {
  return GUIDES.find((each) => each.name === name)
}

function guide(name: string, title: string, about: string): Guide {
  return { name, file: `docs/${name}.md`, title, about }
}

function written(name: string, title: string, about: string): Guide {
  return { ...guide(name, title, about), file: `docs/guides/${name}.md` }
}
