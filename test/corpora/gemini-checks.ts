import { fieldsIn } from '../../src/rules/record.ts'
import { areEqual, hasKeyword, itemsIn, type Check } from './check.ts'
import type { Fields } from './requests.ts'

/** Checks for the requests that Google refuses. */

const anyOfThem: Check['about'] = ({ type }) => type === 'gemini'
const since25: Check['about'] = ({ type, model }) => type === 'gemini' && !model.startsWith('gemini-2.0')
const since3: Check['about'] = ({ type, model }) => type === 'gemini' && model.startsWith('gemini-3')
const before3: Check['about'] = ({ type, model }) => type === 'gemini' && !model.startsWith('gemini-3')

const turn = (role: string, ...parts: Fields[]): Fields => ({ role, parts })
const CALL = { functionCall: { name: 'f', args: {} } }
const RESULT = { functionResponse: { name: 'f', response: { result: '' } } }

/** The names or ids of the calls or results in a turn. */
function functionsIn(content: Fields | undefined, kind: string, field: string): unknown[] {
  return itemsIn(content?.parts)
    .filter((part) => kind in part)
    .map((part) => fieldsIn(part[kind])[field])
}

function schemasIn({ tools, generationConfig }: Fields): unknown[] {
  const declarations = itemsIn(tools).flatMap(({ functionDeclarations }) => itemsIn(functionDeclarations))
  const schemas = declarations.map(({ parametersJsonSchema }) => parametersJsonSchema)
  return [...schemas, fieldsIn(generationConfig).responseJsonSchema]
}

export const GEMINI_CHECKS: readonly Check[] = [
  {
    title: 'penalties, since 2.5',
    about: since25,
    finds: ({ generationConfig }) => Object.keys(fieldsIn(generationConfig)).some((field) => field.endsWith('Penalty')),
    bad: [{ generationConfig: { presencePenalty: 0 } }, { generationConfig: { frequencyPenalty: 1 } }],
  },
  {
    title: 'thoughts of a model that has none',
    about: ({ type, model }) => type === 'gemini' && model.startsWith('gemini-2.0'),
    finds: ({ generationConfig }) => 'thinkingConfig' in fieldsIn(generationConfig),
    bad: [{ generationConfig: { thinkingConfig: {} } }],
  },
  {
    title: 'a constant in a schema',
    about: anyOfThem,
    finds: (body) => schemasIn(body).some((schema) => hasKeyword(schema, (keyword) => keyword === 'const')),
    bad: [
      { generationConfig: { responseJsonSchema: { properties: { a: { const: 1 } } } } },
      { tools: [{ functionDeclarations: [{ parametersJsonSchema: { anyOf: [{ const: 1 }] } }] }] },
    ],
  },
  {
    title: 'a schema that is empty',
    about: anyOfThem,
    finds: (body) =>
      schemasIn(body).some((schema) => schema !== undefined && Object.keys(fieldsIn(schema)).length === 0),
    bad: [{ tools: [{ functionDeclarations: [{ parametersJsonSchema: {} }] }] }],
  },
  {
    title: 'JSON beside functions, before 3',
    about: before3,
    finds: ({ tools, generationConfig }) =>
      itemsIn(tools).length > 0 && fieldsIn(generationConfig).responseMimeType === 'application/json',
    bad: [{ tools: [{}], generationConfig: { responseMimeType: 'application/json' } }],
  },
  {
    title: 'a last turn of the model, since 3',
    about: since3,
    finds: ({ contents }) => itemsIn(contents).at(-1)?.role === 'model',
    bad: [{ contents: [turn('model', { text: 'Hello' })] }],
  },
  {
    title: 'calls without a signature, since 3',
    about: since3,
    finds: ({ contents }) =>
      itemsIn(contents).some(({ parts }) => {
        const first = itemsIn(parts).find((part) => 'functionCall' in part)
        return first !== undefined && !first.thoughtSignature
      }),
    bad: [{ contents: [turn('model', CALL)] }, { contents: [turn('model', { ...CALL, thoughtSignature: '' })] }],
  },
  {
    title: 'no turn, an empty one or an empty part',
    about: anyOfThem,
    finds: ({ contents, systemInstruction }) => {
      const turns = itemsIn(systemInstruction === undefined ? contents : [...itemsIn(contents), systemInstruction])
      const isEmpty = (part: Fields) => Object.keys(part).length === 0 || part.text === ''
      return (
        itemsIn(contents).length === 0 || turns.some(({ parts }) => !itemsIn(parts)[0] || itemsIn(parts).some(isEmpty))
      )
    },
    bad: [
      { contents: [] },
      { contents: [turn('user')] },
      { contents: [turn('user', { text: '' })] },
      { contents: [turn('user', { text: 'Hi' })], systemInstruction: { parts: [] } },
    ],
  },
  {
    title: 'results that are not those of the calls before, one for one',
    about: anyOfThem,
    finds: ({ contents }) =>
      itemsIn(contents).some((content, n, all) =>
        ['name', 'id'].some((field) => {
          const calls = functionsIn(content, 'functionCall', field)
          const results = functionsIn(content, 'functionResponse', field)
          return (
            (calls.length > 0 && !areEqual(calls, functionsIn(all[n + 1], 'functionResponse', field))) ||
            (results.length > 0 && !areEqual(functionsIn(all[n - 1], 'functionCall', field), results))
          )
        }),
      ),
    bad: [
      { contents: [turn('model', CALL, CALL), turn('user', RESULT)] },
      { contents: [turn('model', CALL), turn('user', { text: 'Hi' }), turn('user', RESULT)] },
      { contents: [turn('user', RESULT)] },
      { contents: [turn('model', CALL), turn('user', { functionResponse: { name: 'g' } })] },
    ],
  },
  {
    title: 'words beside results',
    about: anyOfThem,
    finds: ({ contents }) =>
      itemsIn(contents).some(({ parts }) => new Set(itemsIn(parts).map((part) => 'functionResponse' in part)).size > 1),
    bad: [{ contents: [turn('user', RESULT, { text: 'Hi' })] }],
  },
  {
    title: 'ids at Vertex AI, which has none',
    about: ({ kind }) => kind === 'vertex',
    finds: ({ contents }) =>
      itemsIn(contents).some((content) =>
        [...functionsIn(content, 'functionCall', 'id'), ...functionsIn(content, 'functionResponse', 'id')].some(
          (id) => id !== undefined,
        ),
      ),
    bad: [{ contents: [turn('model', { functionCall: { id: 'a' } })] }],
  },
]
