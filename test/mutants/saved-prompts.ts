import type { Mutant } from './mutant.ts'

const ACTIONS = 'src/actions/projects/saved-prompts.ts'
const SAVED = 'test/integration/console-saved-prompts.test.ts'

/** Prompts that a team keeps for the playground. */
export const SAVED_PROMPTS: Mutant[] = [
  {
    bug: 'saved prompts outlive their project',
    file: 'src/actions/projects/projects.ts',
    from: '  await eraseSavedPrompts(tx, project.id)\n',
    to: '',
    test: SAVED,
    title: 'they are erased with their project, and those of others stay',
  },
  {
    bug: 'two that are saved at once are both the hundredth prompt',
    file: ACTIONS,
    from: '  await expectProject(tx, project.id)\n',
    to: '  if (project.id === "") await expectProject(tx, project.id)\n',
    test: SAVED,
    title: 'a project has a hundred saved prompts at most, also when two are saved at once, and each has its size',
  },
  {
    bug: 'the text of a saved prompt stands in the audit log',
    file: ACTIONS,
    from: 'const details = { model, bytes: promptBytes(content) }',
    to: 'const details = { model, content }',
    test: SAVED,
    title: 'the audit log says who saved which prompt, and nothing of its text',
  },
  {
    bug: 'a saved prompt is measured in characters, and may have four times its bytes',
    file: 'src/rules/projects/saved-prompts.ts',
    from: 'Buffer.byteLength(JSON.stringify(content))',
    to: 'JSON.stringify(content).length',
    test: 'src/rules/projects/saved-prompts.test.ts',
    title: 'a prompt of exactly 60 KB can be saved, and one of a byte more cannot',
  },
  {
    bug: 'a saved prompt that is opened has lost what is to be asked',
    file: 'dashboard/src/pages/playground/chat.ts',
    from: "if (role === 'user') draft = content",
    to: "if (role === 'user') draft ||= ''",
    test: 'dashboard/src/pages/playground/chat.test.ts',
    title: 'a prompt that is saved and opened again is the same chat, with what is to be asked in the composer',
  },
  {
    bug: 'what two models share is shown as the answer of each',
    file: 'dashboard/src/pages/playground/use-comparison.ts',
    from: 'beside && !beside.isShared',
    to: 'beside',
    test: 'dashboard/src/pages/playground/chat.test.ts',
    title: 'what was said before the comparison stands once, and each answer after it beside the other',
  },
  {
    bug: 'what the keyboard hears of a bar has no sum',
    file: 'dashboard/src/components/chart-reading.ts',
    from: "kind === 'bars' && parts.length > 1",
    to: "kind === 'lines' && parts.length > 1",
    test: 'dashboard/src/components/chart-reading.test.ts',
    title: 'what is heard of a bar is what its tooltip shows: the moment, each part, the top one first, and their sum',
  },
  {
    bug: 'a charge that is less than the last decimal of its column is shown as nothing',
    file: 'dashboard/src/formats.ts',
    from: 'const isLess = size > 0n && rounded === 0n',
    to: 'const isLess = size < 0n && rounded === 0n',
    test: 'dashboard/src/formats.test.ts',
    title: 'amounts of a column have the same decimals: four at most, unless even the largest needs more',
  },
]
