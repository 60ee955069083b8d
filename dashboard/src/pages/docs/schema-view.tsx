import { Badge } from '../../components/badge.tsx'
import { fieldsOf, resolved, typeOf, type OpenApi, type Schema } from './openapi.ts'

type Field = [name: string, schema: Schema, isRequired: boolean]

export interface FieldListProps {
  document: OpenApi
  title: string
  schema?: Schema
  fields?: Field[]
}

/** The fields of a body, folded away: most readers want one of them. */
export function FieldList({
  document,
  title,
  schema,
  fields = schema ? fieldsOf(resolved(document, schema)) : [],
}: FieldListProps) {
  if (fields.length === 0) return null
  return (
    <details className="rounded-lg border border-line bg-surface">
      <summary className="px-4 py-2.5 text-sm font-medium">
        {title} <span className="tabular font-normal text-muted">({fields.length})</span>
      </summary>
      <div className="border-t border-line px-4 py-1">
        <Fields document={document} fields={fields} />
      </div>
    </details>
  )
}

function Fields({ document, fields }: { document: OpenApi; fields: Field[] }) {
  return (
    <ul className="divide-y divide-line">
      {fields.map(([name, schema, isRequired]) => (
        <li key={name} className="py-2 text-sm [overflow-wrap:anywhere]">
          <p className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
            <code className="font-mono font-medium">{name}</code>
            <span className="text-muted">{typeOf(schema)}</span>
            {isRequired && <Badge tone="warn">required</Badge>}
            {schema.default !== undefined && (
              <span className="text-muted">default {JSON.stringify(schema.default)}</span>
            )}
          </p>
          {schema.description && <p className="mt-0.5 text-muted">{schema.description}</p>}
          <Inner document={document} name={name} schema={schema} />
        </li>
      ))}
    </ul>
  )
}

function Inner({ document, name, schema }: { document: OpenApi; name: string; schema: Schema }) {
  const fields = fieldsOf(resolved(document, schema))
  if (fields.length === 0) return null
  return (
    <details className="mt-1 border-l-2 border-line pl-3">
      <summary className="py-0.5 text-sm text-accent-text">Fields of {name}</summary>
      <Fields document={document} fields={fields} />
    </details>
  )
}
