import type { Check } from './check.ts'
import { CLAUDE_CHECKS } from './claude-checks.ts'
import { CONVERSE_CHECKS } from './converse-checks.ts'
import { EMPTY_CHECKS } from './empty-checks.ts'
import { GEMINI_CHECKS } from './gemini-checks.ts'
import { OPENAI_CHECKS } from './openai-checks.ts'

export const CHECKS: readonly Check[] = [
  ...EMPTY_CHECKS,
  ...OPENAI_CHECKS,
  ...CLAUDE_CHECKS,
  ...GEMINI_CHECKS,
  ...CONVERSE_CHECKS,
]
