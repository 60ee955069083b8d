import { z } from 'zod'
import { arrayInsteadOf } from '../calls/message.ts'

/** The checks of requests and answers, written as JSON Schema (draft 2020-12, which OpenAPI 3.1 speaks). */

export type JsonSchema = Record<string, unknown>

/** For what is sent to us. Fields that are always refused may still be null, which means that they are not given. */
export function schemaOfSent(schema: z.ZodType): JsonSchema {
  return converted(schema, {
    io: 'input',
    unrepresentable: ({ zodSchema }) => (zodSchema._zod.def.type === 'undefined' ? { type: 'null' } : 'any'),
    override({ zodSchema, jsonSchema }) {
      const array = arrayInsteadOf(zodSchema)
      if (array) Object.assign(emptied(jsonSchema), { anyOf: [{ type: 'string' }, schemaOfSent(array)] })
      // Names of fields are always text.
      delete jsonSchema.propertyNames
    },
  })
}

/** For what we send. It is open, though its check is strict: a client must not break when an answer gets another field. */
export function schemaOfAnswer(schema: z.ZodType): JsonSchema {
  return converted(schema, {
    io: 'output',
    override({ jsonSchema }) {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      delete jsonSchema.propertyNames
      // Every number of ours is an exact one.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
}

function converted(schema: z.ZodType, params: Parameters<typeof z.toJSONSchema>[1]): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, params)
  return rest
}

function emptied(jsonSchema: JsonSchema): JsonSchema {
  for (const name of Object.keys(jsonSchema)) delete jsonSchema[name]
  return jsonSchema
}
