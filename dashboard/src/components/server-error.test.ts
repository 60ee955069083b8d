import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFormControl } from 'react-hook-form'
import { ApiError } from '../api.ts'
import { showServerError } from './server-error.ts'

const CITY = { path: 'address.city', message: 'Name a city.' }
const NAME = { path: 'name', message: 'Too long.' }
const LIMIT = { path: 'limit', message: 'At most 9.' }
const COLOUR = { path: 'colour', message: 'There is no such colour.' }

/** Returns the messages beside each field and above the buttons after this error. */
function shownFor(error: unknown) {
  const form = createFormControl({ defaultValues: { name: '', address: { city: '' } } })
  showServerError(form, error)
  const [name, city] = (['name', 'address.city'] as const).map((path) => form.getFieldState(path).error?.message)
  return { name, city, above: form.control._formState.errors.root?.server?.message }
}

/** As the server says it: in one sentence, of the first field. */
const refusal = (...fields: { path: string; message: string }[]) =>
  new ApiError(422, fields[0] ? `${fields[0].path}: ${fields[0].message}` : 'Not like this.', { fields })
const NOWHERE = { name: undefined, city: undefined, above: undefined }

test('what the server says of fields stands beside them', () => {
  assert.deepEqual(shownFor(refusal(NAME)), { ...NOWHERE, name: 'Too long.' })
  assert.deepEqual(shownFor(refusal(NAME, CITY)), { ...NOWHERE, name: 'Too long.', city: 'Name a city.' })
})

test('what belongs to no field of the form stands above the buttons, also when another field is wrong, too', () => {
  assert.deepEqual(shownFor(refusal(LIMIT)), { ...NOWHERE, above: 'limit: At most 9.' })
  for (const fields of [
    [LIMIT, NAME],
    [NAME, LIMIT],
  ])
    assert.deepEqual(shownFor(refusal(...fields)), { ...NOWHERE, name: 'Too long.', above: 'limit: At most 9.' })
  const both = 'limit: At most 9. colour: There is no such colour.'
  assert.deepEqual(shownFor(refusal(LIMIT, COLOUR)), { ...NOWHERE, above: both })
  assert.deepEqual(shownFor(refusal()), { ...NOWHERE, above: 'Not like this.' })
  assert.deepEqual(shownFor(new Error('Lost.')), { ...NOWHERE, above: 'Lost.' })
})
