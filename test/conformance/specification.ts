/** The specification's parts, in its order; of part 1 only what the others do not say again. */
import type { Sections } from './clauses.ts'

const CLIENT = 'it advises clients'
const LEFT_OPEN = 'the specification leaves it open; where the contract decides it, the clause is there'

const fieldsOfRequest = {
  'model-required': 'model is required.',
  'model-string': 'model is a string.',
  'model-from-list': 'model is the id of an entry returned by the models endpoint.',
  'messages-required': 'messages is required.',
  'messages-array': 'messages is an array of Message.',
  'messages-history': 'messages is the conversation history: the model reads all of it, in order.',
  'messages-not-empty': 'An empty messages array is invalid.',
  'stream-boolean': 'stream is a boolean.',
  'stream-default': 'stream is optional and false by default.',
  'stream-true': 'When stream is true the reply is streamed as Server-Sent Events.',
  'temperature-number': 'temperature is a number.',
  'temperature-optional': 'temperature is optional; when given, the model gets it.',
  'temperature-range': 'temperature is from 0 to 2.',
  'temperature-meaning': { text: 'Higher temperatures give more random output.', untestable: 'it describes the model' },
  'max-tokens-number': 'max_tokens is a number.',
  'max-tokens-optional': 'max_tokens is optional.',
  'max-tokens-maximum': 'max_tokens is the maximum number of tokens to generate.',
  'top-p-number': 'top_p is a number.',
  'top-p-optional': 'top_p is optional; when given, the model gets it.',
}

const fieldsOfCompletion = {
  id: 'id is a string, the completion identifier.',
  object: 'object is the constant chat.completion.',
  created: 'created is an integer, the creation time as a Unix timestamp in seconds.',
  model: 'model is the model id used.',
  choices: 'choices is an array.',
  index: 'Each choice has an index, an integer.',
  message: 'Each choice has a message: a Message with role assistant, whose content is a string.',
  'finish-reason': 'Each choice has a finish_reason, a string; stop when the model ended normally.',
  usage: 'usage is an object with prompt_tokens, completion_tokens and total_tokens, all integers.',
}

const fieldsOfChunk = {
  'same-id': 'Same completion identifier on every chunk of one stream.',
  object: 'object is the constant chat.completion.chunk.',
  created: 'created is an integer, a Unix timestamp in seconds.',
  model: 'model is the model id used.',
  choices: 'choices is an array; each element has index (integer), delta (object), finish_reason (string or null).',
  'delta-role': 'The first chunk has delta.role assistant.',
  'delta-content': 'delta.content is a text fragment.',
  'delta-empty': 'The final chunk of the content has an empty delta and finish_reason stop.',
  'earlier-null': 'Earlier chunks have finish_reason null.',
  'other-reasons': { text: 'Allowed values of finish_reason other than stop and null.', untestable: LEFT_OPEN },
}

const authentication = {
  'both-keys': 'Every request must carry both keys in headers.',
  'publishable-required': 'x-publishable-key is required.',
  'publishable-identifies': 'x-publishable-key identifies the publisher project.',
  'publishable-public': 'x-publishable-key may be placed in client-side code: alone it opens nothing.',
  'secret-required': 'x-secret-key is required.',
  'secret-authenticates': 'x-secret-key authenticates the request.',
  'secret-not-in-logs': 'x-secret-key must not appear in logs.',
  'secret-confidential': { text: 'x-secret-key must stay confidential and server-side.', untestable: CLIENT },
  'secret-not-committed': { text: 'x-secret-key must not appear in version control.', untestable: CLIENT },
  'conversation-optional': 'x-conversation-id is optional.',
  'conversation-uuid': 'x-conversation-id is a string; a UUID is an acceptable shape.',
  'conversation-groups': 'x-conversation-id groups messages into a conversation.',
  'missing-401': 'Either key header missing is 401.',
  'invalid-401': 'A key that is invalid is 401.',
  'mismatched-401': 'Keys from different pairs are 401.',
  'inactive-401': 'An inactive key pair is 401.',
  'unverified-403': 'A project domain that is not verified is 403.',
  'credit-403': 'Insufficient credit balance is 403 on chat completions.',
  'new-pair': 'A new key pair replaces one that may have been compromised.',
}

const errors = {
  body: 'Error responses have the JSON body of part 2.6.',
  '400-model': 'Missing model is 400.',
  '400-messages': 'Empty messages is 400.',
  '400-json': 'Invalid JSON is 400.',
  '401-missing': 'A missing key is 401.',
  '401-invalid': 'An invalid key is 401.',
  '401-mismatch': 'A key pair mismatch is 401.',
  '401-inactive': 'An inactive key is 401.',
  '403-domain': 'Domain not verified is 403.',
  '403-credit': 'Insufficient credit balance is 403.',
  '404-conversation': 'An invalid conversation id is 404.',
  '404-path': 'An invalid endpoint path is 404.',
  '422-model': 'An invalid model name gives either 400 or 422.',
  '422-values': 'Invalid parameter values are 422.',
  'unexpected-500': 'An unexpected server error is 500.',
  'upstream-502': 'An error of the upstream model provider is 502.',
  'unavailable-503': 'Temporarily unavailable is 503.',
  'client-retries': { text: 'Retry 5xx after 1, 2, 4, … seconds, at most 60; stop after some.', untestable: CLIENT },
  'client-no-retry': { text: 'Do not retry 4xx statuses.', untestable: CLIENT },
  'message-text': { text: 'Exact message text per case.', untestable: LEFT_OPEN },
  'after-begin': { text: 'Error behaviour once a stream has begun.', untestable: LEFT_OPEN },
}

export const SPECIFICATION: Sections = {
  '1 what the service does': {
    prefix: '1',
    sentences: {
      recommendations:
        'With monetization enabled and fitting products, the reply content may contain recommendations in the normal text.',
      'no-parsing': 'The caller does no extra parsing for them.',
    },
  },
  '2.1 completion request': { prefix: '2.1', sentences: fieldsOfRequest },
  '2.2 message': {
    prefix: '2.2',
    sentences: {
      'role-values': 'role is one of system, user, assistant.',
      'role-string': 'role is a string.',
      'content-string': 'content is a string, the text of the message.',
      'content-unchanged': 'content reaches the model as it was sent.',
    },
  },
  '2.3 completion': { prefix: '2.3', sentences: fieldsOfCompletion },
  '2.4 completion chunk': { prefix: '2.4', sentences: fieldsOfChunk },
  '2.5 model list': {
    prefix: '2.5',
    sentences: {
      object: 'object is the constant list.',
      data: 'data is an array of Model: the available models.',
      id: 'A model has an id, a string, to use in the model field of a completion request.',
      'model-object': 'A model has object, the constant model.',
      created: 'A model has created, an integer, a Unix timestamp in seconds.',
      'owned-by': "A model has owned_by, a string, the name of the model's provider.",
    },
  },
  '2.6 error body': {
    prefix: '2.6',
    sentences: {
      'status-code': 'statusCode is an integer, the HTTP status code.',
      message: 'message is a string, a human-readable description.',
      error: 'error is a string, the HTTP status text, for example Unauthorized.',
    },
  },
  '2.7 other records': {
    prefix: '2.7',
    sentences: {
      'pair-together': 'The publishable key and the secret key of a pair belong together.',
      'pair-active-or-inactive': 'Each key pair is either active or inactive.',
      'conversation-identity': 'A conversation is identified by the value of the x-conversation-id header.',
      'conversation-fields': { text: 'Fields of a conversation record.', untestable: LEFT_OPEN },
    },
  },
  '3 states': {
    prefix: '3',
    sentences: {
      'pair-active': 'Key pair active: requests are served.',
      'pair-inactive': 'Key pair inactive: any authenticated request is 401.',
      'domain-verified': 'Domain verified: requests are served.',
      'domain-unverified': 'Domain not verified: any authenticated request is 403.',
      'wallet-positive': 'Positive balance: chat completions are served.',
      'wallet-insufficient': 'Insufficient credit balance: a chat completion is 403.',
      'wallet-models': 'The balance does not matter to other operations.',
      'account-activated': 'A publisher account is activated or not, and that influences requests.',
      transitions: { text: 'How states change.', untestable: LEFT_OPEN },
    },
  },
  '4 endpoints': {
    prefix: '4',
    sentences: {
      'content-type': 'All requests with a body use Content-Type: application/json.',
      authenticated: 'Both endpoints require the authentication headers.',
    },
  },
  '4.1 POST /v1/chat/completions': {
    prefix: '4.1',
    sentences: {
      creates: 'It creates a chat completion from the object of part 2.1.',
      'required-headers': 'x-publishable-key and x-secret-key are required, x-conversation-id is optional.',
      'json-when-false': 'stream false: status 200 and a Completion as JSON.',
      'json-when-omitted': 'stream omitted: status 200 and a Completion as JSON.',
      'sse-when-true': 'stream true: a Server-Sent Events stream.',
      'event-lines': 'Each event is a line "data: <json chunk>" followed by a blank line.',
      done: 'The stream ends with the literal event "data: [DONE]".',
      statuses: 'Its error statuses are 400, 401, 403, 500 (see part 7).',
    },
  },
  '4.2 GET /v1/models': {
    prefix: '4.2',
    sentences: {
      lists: 'It lists the models that can be used in completion requests.',
      headers: 'Its request headers are x-publishable-key and x-secret-key.',
      'no-body': 'It needs no request body.',
      'status-200': 'Status 200 and the model list of part 2.5.',
      cached: 'The response is cached for 10 minutes.',
    },
  },
  '4.3 other endpoints': {
    prefix: '4.3',
    sentences: {
      'not-shown': { text: 'Endpoints other than the two.', untestable: LEFT_OPEN },
      'unknown-404': 'A 404 is returned for an unknown endpoint path.',
    },
  },
  '5 authentication': { prefix: '5', sentences: authentication },
  '6 events': {
    prefix: '6',
    sentences: {
      'one-mechanism': 'Server-Sent Events, on the completion endpoint when stream is true, are the one mechanism.',
      'data-lines': 'Each event is a data: line with a completion chunk.',
      'first-role': 'The first chunk carries the role.',
      'later-content': 'Later chunks carry content fragments.',
      closing: 'A chunk with an empty delta and finish_reason stop closes the content.',
      done: 'The final event is data: [DONE].',
      webhooks: { text: 'Webhooks or other outgoing notifications.', untestable: LEFT_OPEN },
    },
  },
  '7 errors': { prefix: '7', sentences: errors },
  '8 limits': {
    prefix: '8',
    sentences: {
      'model-cache': 'The model list is cached for 10 minutes.',
      'new-model': 'A newly added model may take up to 10 minutes to appear.',
      temperature: 'temperature is 0 to 2 on chat completions.',
      'backoff-cap': { text: 'Recommended retry backoff cap: 60 seconds.', untestable: CLIENT },
      charged: 'Token costs are charged against the credit wallet.',
      'positive-balance': 'A positive balance is needed for chat completions.',
      others: { text: 'Rate limits, size limits, bounds of max_tokens and top_p.', untestable: LEFT_OPEN },
    },
  },
  '9 versioning': {
    prefix: '9',
    sentences: {
      path: 'The version is part of the path: all endpoints begin with /v1.',
      'models-change': 'The set of available models changes as models are added or deprecated.',
      deprecation: { text: 'Deprecation policy and compatibility promises.', untestable: LEFT_OPEN },
    },
  },
}
