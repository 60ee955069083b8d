import { everywhere, GEMINI_3, HELLO, keeps, refused, SAID, sees, type Case, type Row } from './row.ts'

const PNG = 'iVBORw0KGgo='
const PDF = 'JVBERi0xLjQ='
const SOUND = 'UklGRg=='
const ADDRESS = 'https://images.example/cat.png'
const TEXT = { type: 'text', text: SAID }
const image = (url: string, detail?: string) => ({ type: 'image_url', image_url: { url, ...(detail && { detail }) } })
const file = (file_data: string) => ({ type: 'file', file: { file_data, filename: 'notes.pdf' } })
const PDF_PART = file(`data:application/pdf;base64,${PDF}`)
const NOTE = file(`data:text/plain;base64,${Buffer.from('A note.').toString('base64')}`)
const SHEET = file(`data:text/csv;base64,${Buffer.from('a,b').toString('base64')}`)
const AUDIO = { type: 'input_audio', input_audio: { data: SOUND, format: 'wav' } }
const MARK = { type: 'ephemeral', ttl: '5m' }

const said = (...parts: object[]) => ({ messages: [{ role: 'user', content: [TEXT, ...parts] }] })
const CLAUDE_4_6 = { anthropic: 'claude-opus-4-6', bedrock: 'us.anthropic.claude-opus-4-6-v1' }
const PREFILLED = { messages: [HELLO, { role: 'assistant', content: 'Well,' }] }
const PREFILL = 'messages that end with one of the assistant'

const instruction = (role: string): Case => ({
  name: `\`${role}\``,
  request: { messages: [{ role, content: 'Be brief.' }, HELLO] },
  openai: sees({ 'messages.0': { role, content: 'Be brief.' } }),
  anthropic: sees({ system: [{ type: 'text', text: 'Be brief.' }] }),
  gemini: sees({ systemInstruction: { parts: [{ text: 'Be brief.' }] } }),
  bedrock: sees({ system: [{ text: 'Be brief.' }] }),
})

/** The parts of messages. */
export const PARTS: Row[] = [
  {
    field: 'messages: system, developer',
    does: 'Instructions; `developer` is the newer name. They go before the conversation, wherever they were.',
    cases: [instruction('system'), instruction('developer')],
  },
  {
    field: 'parts: text',
    does: 'Text, in one or several parts.',
    cases: [
      {
        name: 'text',
        request: said(),
        openai: sees({ 'messages.0.content': [TEXT] }),
        anthropic: sees({ 'messages.0.content': [TEXT] }),
        gemini: sees({ 'contents.0.parts': [{ text: SAID }] }),
        bedrock: sees({ 'messages.0.content': [{ text: SAID }] }),
      },
    ],
  },
  {
    field: 'parts: image_url',
    also: ['images', 'image_urls'],
    does: 'An image, as a `data:` URL or an address. `detail` works in the OpenAI format and at Gemini.',
    cases: [
      {
        name: 'data',
        request: said(image(`data:image/png;base64,${PNG}`)),
        openai: sees({ 'messages.0.content.1': image(`data:image/png;base64,${PNG}`) }),
        anthropic: sees({
          'messages.0.content.1': { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
        }),
        gemini: sees({ 'contents.0.parts.1': { inlineData: { mimeType: 'image/png', data: PNG } } }),
        bedrock: sees({ 'messages.0.content.1.image': { format: 'png', source: { bytes: PNG } } }),
      },
      {
        name: 'an address',
        request: said(image(ADDRESS)),
        openai: sees({ 'messages.0.content.1': image(ADDRESS) }),
        anthropic: sees({ 'messages.0.content.1': { type: 'image', source: { type: 'url', url: ADDRESS } } }),
        gemini: sees({ 'contents.0.parts.1': { fileData: { mimeType: 'image/png', fileUri: ADDRESS } } }),
        bedrock: refused('images'),
      },
      {
        name: 'types other than images',
        request: said(image(`data:text/html;base64,${PNG}`)),
        openai: sees({ 'messages.0.content.1': image(`data:text/html;base64,${PNG}`) }),
        anthropic: refused('images'),
        gemini: refused('images'),
        bedrock: refused('images'),
      },
      {
        name: '`detail`',
        request: said(image(`data:image/png;base64,${PNG}`, 'low')),
        openai: sees({ 'messages.0.content.1': image(`data:image/png;base64,${PNG}`, 'low') }),
        anthropic: sees({ 'messages.0.content.1.type': 'image' }),
        gemini: sees({ 'generationConfig.mediaResolution': 'MEDIA_RESOLUTION_LOW' }),
        bedrock: sees({ 'messages.0.content.1.image.format': 'png' }),
      },
    ],
  },
  {
    field: 'parts: file',
    also: ['files'],
    does: 'A document in `file_data`, a `data:` URL.',
    cases: [
      {
        name: 'a PDF',
        request: said(PDF_PART),
        openai: sees({ 'messages.0.content.1': PDF_PART }),
        anthropic: sees({
          'messages.0.content.1': {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'notes.pdf',
          },
        }),
        gemini: sees({ 'contents.0.parts.1': { inlineData: { mimeType: 'application/pdf', data: PDF } } }),
        bedrock: sees({
          'messages.0.content.1.document.format': 'pdf',
          'messages.0.content.1.document.source': { bytes: PDF },
        }),
      },
      {
        name: 'a text',
        request: said(NOTE),
        openai: sees({ 'messages.0.content.1': NOTE }),
        anthropic: sees({
          'messages.0.content.1.source': { type: 'text', media_type: 'text/plain', data: 'A note.' },
        }),
        gemini: sees({ 'contents.0.parts.1.inlineData.mimeType': 'text/plain' }),
        bedrock: refused('files'),
      },
      {
        name: 'neither PDF nor text',
        request: said(SHEET),
        openai: sees({ 'messages.0.content.1': SHEET }),
        anthropic: refused('files'),
        gemini: refused('files'),
        bedrock: refused('files'),
      },
      {
        name: '`file_id`',
        request: said({ type: 'file', file: { file_id: 'file-1' } }),
        ...everywhere(refused('messages[0].content[1].file.file_data')),
      },
    ],
  },
  {
    field: 'parts: input_audio',
    also: ['input_audio'],
    does: 'Sound, `wav` or `mp3`, where the operator [offers it](operations.md#sound).',
    cases: [
      {
        name: 'sound',
        request: said(AUDIO),
        openai: sees({ 'messages.0.content.1': AUDIO }),
        anthropic: refused('input_audio'),
        gemini: sees({ 'contents.0.parts.1': { inlineData: { mimeType: 'audio/wav', data: SOUND } } }),
        bedrock: refused('input_audio'),
      },
    ],
  },
  {
    field: 'parts: cache_control',
    does: 'Where a prompt may be cached. Never needed: [prompt caching](api.md#prompt-caching) is automatic.',
    cases: [
      {
        name: 'a mark',
        request: { messages: [{ role: 'user', content: [{ ...TEXT, cache_control: MARK }] }] },
        openai: keeps('cache_control'),
        anthropic: sees({ 'messages.0.content.0.cache_control': MARK }),
        gemini: keeps('cache_control'),
        bedrock: sees({ 'messages.0.content.1.cachePoint': { type: 'default' } }),
      },
      {
        name: 'models at Bedrock that do not cache',
        request: { messages: [{ role: 'user', content: [{ ...TEXT, cache_control: MARK }] }] },
        models: { bedrock: 'meta.llama3-70b-instruct-v1:0' },
        openai: keeps('cache_control'),
        anthropic: sees({ 'messages.0.content.0.cache_control': MARK }),
        gemini: keeps('cache_control'),
        bedrock: keeps('cachePoint'),
      },
    ],
  },
  {
    field: 'messages that end with `assistant`',
    also: ['prefill'],
    does: 'The model continues from these words.',
    cases: [
      {
        name: 'on Claude up to 4.5, Gemini up to 2.5',
        request: PREFILLED,
        openai: sees({ 'messages.1': { role: 'assistant', content: 'Well,' } }),
        anthropic: sees({ 'messages.1': { role: 'assistant', content: [{ type: 'text', text: 'Well,' }] } }),
        gemini: sees({ 'contents.1': { role: 'model', parts: [{ text: 'Well,' }] } }),
        bedrock: sees({ 'messages.1': { role: 'assistant', content: [{ text: 'Well,' }] } }),
      },
      {
        name: 'on Claude 4.6 and newer',
        request: PREFILLED,
        models: CLAUDE_4_6,
        anthropic: refused(PREFILL),
        bedrock: refused(PREFILL),
      },
      { name: 'on Gemini 3 and newer', request: PREFILLED, models: GEMINI_3, gemini: refused(PREFILL) },
      {
        name: 'with `reasoning_effort`',
        isAside: true,
        request: { ...PREFILLED, reasoning_effort: 'low' },
        openai: sees({ reasoning_effort: 'low' }),
        anthropic: refused(PREFILL),
        gemini: sees({ 'contents.1.role': 'model' }),
        bedrock: refused(PREFILL),
      },
    ],
  },
]
