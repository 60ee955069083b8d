/**
 * A body of Bedrock's ConverseStream, from the types of @aws-sdk/client-bedrock-runtime 3.1162.0: a package of 28 others for
 * these few. They differ from it where the wire does: bytes are base64 there, and the model stands in the address.
 */
export interface ConverseStreamBody {
  messages?: Message[]
  system?: SystemContentBlock[]
  inferenceConfig?: { maxTokens?: number; temperature?: number; topP?: number; stopSequences?: string[] }
  toolConfig?: { tools: Tool[]; toolChoice?: ToolChoice }
  additionalModelRequestFields?: Json
  additionalModelResponseFieldPaths?: string[]
  requestMetadata?: Record<string, string>
  performanceConfig?: { latency?: 'optimized' | 'standard' }
  serviceTier?: { type: 'default' | 'flex' | 'priority' | 'reserved' }
  outputConfig?: { textFormat?: OutputFormat; effort?: string }
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** Exactly one of them. */
type OneOf<Members> = {
  [Name in keyof Members]: { [Only in Name]: Members[Only] } & { [Other in Exclude<keyof Members, Name>]?: never }
}[keyof Members]

interface Message {
  role: 'user' | 'assistant' | 'system'
  content: ContentBlock[]
}

type ContentBlock = OneOf<{
  text: string
  image: ImageBlock
  document: DocumentBlock
  toolUse: { toolUseId: string; name: string; input: Json; type?: 'server_tool_use' }
  toolResult: { toolUseId: string; content: ToolResultContentBlock[]; status?: 'success' | 'error'; type?: string }
  cachePoint: CachePointBlock
  reasoningContent: OneOf<{ reasoningText: { text: string; signature?: string }; redactedContent: string }>
}>

type ToolResultContentBlock = OneOf<{ json: Json; text: string; image: ImageBlock; document: DocumentBlock }>

type SystemContentBlock = OneOf<{ text: string; cachePoint: CachePointBlock }>

interface CachePointBlock {
  type: 'default'
  ttl?: '5m' | '1h'
}

interface ImageBlock {
  format: 'gif' | 'jpeg' | 'png' | 'webp'
  source: { bytes: string }
}

interface DocumentBlock {
  format?: 'csv' | 'doc' | 'docx' | 'html' | 'md' | 'pdf' | 'txt' | 'xls' | 'xlsx'
  name: string
  source: OneOf<{ bytes: string; text: string; content: { text: string }[] }>
  context?: string
  citations?: { enabled: boolean }
}

type Tool = OneOf<{ toolSpec: ToolSpecification; systemTool: { name: string }; cachePoint: CachePointBlock }>

interface ToolSpecification {
  name: string
  description?: string
  inputSchema: { json: Json }
  strict?: boolean
}

type ToolChoice = OneOf<{ auto: Nothing; any: Nothing; tool: { name: string } }>
type Nothing = Record<string, never>

interface OutputFormat {
  type: 'json_schema'
  structure: { jsonSchema: { schema: string; name?: string; description?: string } }
}
