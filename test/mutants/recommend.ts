import type { Mutant } from './mutant.ts'

export const RECOMMEND: Mutant[] = [
  {
    bug: 'the encoder is written in place, where others see half of it',
    file: 'src/recommend/encoder-build/build-encoder.ts',
    from: 'const draft = `${path}.${randomUUID()}`',
    to: 'const draft = path',
    test: 'src/recommend/encoder-build/build-encoder.test.ts',
    title: 'two that build at once do not harm each other, and nobody ever sees half a file',
  },
  {
    bug: 'an encoder is built of any weights, under the name of the proven ones',
    file: 'src/recommend/encoder-build/build-encoder.ts',
    from: "digest('hex') !== WEIGHTS_SHA256",
    to: "digest('hex') === ''",
    test: 'src/recommend/encoder-build/build-encoder.test.ts',
    title: 'other weights than those that the vectors are named after are refused',
  },
  {
    bug: 'a damaged encoder is loaded',
    file: 'src/recommend/embedding/encoder-file.ts',
    from: "return digest.digest('hex') === ENCODER_FILES[precision].sha256",
    to: 'return true',
    test: 'src/recommend/embedding/embedder.test.ts',
    title: 'a file whose bytes are not those that were built is never loaded, wherever they were lost',
  },
  {
    bug: 'the encoder of other weights is loaded',
    file: 'src/recommend/embedding/embedder.ts',
    from: 'digestOf(weights.version, GRAPH_VERSION, tokenizerFile)',
    to: 'digestOf(GRAPH_VERSION, tokenizerFile)',
    test: 'src/recommend/embedding/embedder.test.ts',
    title: 'an encoder of other weights is not loaded in place of one that cannot be built',
  },
  {
    bug: 'a question that the thread could not answer is answered with nothing',
    file: 'src/recommend/embedding/embedder-thread.ts',
    from: 'question?.reject(new Error(reply.error))',
    to: 'question?.resolve([])',
    test: 'src/recommend/embedding/embedder-thread.test.ts',
    title: 'answers find their questions in whatever order they come, and a failure is that of its own question',
  },
  {
    bug: 'a thread that ends answers its open questions with nothing',
    file: 'src/recommend/embedding/embedder-thread.ts',
    from: 'for (const { reject } of waiting.values()) reject(error)',
    to: 'for (const { resolve } of waiting.values()) resolve([])',
    test: 'src/recommend/embedding/embedder-thread.test.ts',
    title: 'a thread ends with the questions that it has not answered',
  },
  {
    bug: 'a matcher that is busy is taken for a dead one',
    file: 'src/recommend/matcher-client.ts',
    from: 'learn(!parsed.success && heard !== NOT_NOW)',
    to: 'learn(!parsed.success)',
    test: 'src/recommend/matcher-client.test.ts',
    title: 'a matcher that answers 503 is well: the next call asks it again',
  },
  {
    bug: 'when a dead matcher has rested, everybody tries it at once',
    file: 'src/recommend/matcher-client.ts',
    from: '    if (faults >= FAULTS_MAX) restsUntilMs = nowMs + REST_MS\n',
    to: '',
    test: 'src/recommend/matcher-client.test.ts',
    title: 'a dead matcher is not asked again and again, and asked once more after a while',
  },
  {
    bug: 'a dead matcher is asked for ever',
    file: 'src/recommend/matcher-client.ts',
    from: '    if (nowMs < restsUntilMs) return false\n',
    to: '',
    test: 'src/recommend/matcher-client.test.ts',
    title: 'a dead matcher is not asked again and again, and asked once more after a while',
  },
  {
    bug: 'any number of questions wait for a matcher at once',
    file: 'src/recommend/matcher-client.ts',
    from: '    if (inFlight >= IN_FLIGHT_MAX) return false\n',
    to: '',
    test: 'src/recommend/matcher-client.test.ts',
    title: 'only so many wait at once: the rest are told at once',
  },
  {
    bug: 'a turn of the matcher that was handed over is taken by who comes meanwhile',
    file: 'src/matcher/queue.ts',
    from: `          running += 1
          turn.resolve()
        })
        await turn.promise
`,
    to: `          turn.resolve()
        })
        await turn.promise
        running += 1
`,
    test: 'src/matcher/queue.test.ts',
    title: 'a turn that was handed over is not taken by who comes meanwhile',
  },
  {
    bug: 'conversations are noted as sensitive only as long as outcomes can be counted',
    file: 'src/gateway/recommendations/records.ts',
    from: 'writeAll(sensitive, (rows) => noteSensitive(db, rows), drop)',
    to: 'writeAll(sensitive, (rows) => noteSensitive(db, rows), drop).then(writeOutcomes)',
    test: 'test/e2e/recommendation-attacks.test.ts',
    title: 'conversations are noted as sensitive at once, also while no outcome can be counted',
  },
  {
    bug: 'a record that is sent again counts twice in its conversation',
    file: 'src/store/recommendations/records.ts',
    from: 'from allowed join written using (id)',
    to: 'from allowed',
    test: 'test/e2e/recommendation-links.test.ts',
    title: 'a record that is sent again, because the answer to the first time was lost, is written once',
  },
]
