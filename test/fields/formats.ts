import { PRESETS } from '../../src/providers/presets.ts'

/** A provider's format, and the model that a field is tried on unless its row names another. */
export interface Format {
  /** The provider's kind in the database. */
  kind: string
  /** The path of the simulator's base URL. */
  basePath: string
  settings: Record<string, unknown>
  model: string
}

export const FORMATS = {
  openai: {
    kind: 'openai-compatible',
    basePath: '/v1',
    // Options that the preset leaves to operators are tried, too.
    settings: { ...PRESETS.find(({ name }) => name === 'openai')?.settings, readsAudio: true, unsupportedFields: [] },
    model: 'gpt-5',
  },
  anthropic: { kind: 'anthropic', basePath: '/v1', settings: {}, model: 'claude-opus-4-5' },
  gemini: { kind: 'gemini', basePath: '/v1beta', settings: { readsAudio: true }, model: 'gemini-2.5-flash' },
  vertex: { kind: 'vertex', basePath: '/v1', settings: { readsAudio: true }, model: 'gemini-2.5-flash' },
  bedrock: {
    kind: 'bedrock',
    basePath: '',
    settings: { region: 'eu-north-1' },
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof FORMATS
export const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[]
