/** After so many answers in a row without a hidden thought, those before them are no longer believed. */
export const ORDINARY_ANSWERS = 64
/** Several, because a provider may count oddly once. */
const CALLS_MIN = 3

/**
 * The publishers whose calls have shown that a model thinks unseen, for those who have not seen it themselves: it is believed
 * when two have, so that one cannot make others hold all that the model may write. The last two are enough to know that.
 */
export class Sightings {
  #last = { publisherId: '', ordinaryLeft: 0 }
  #before = { publisherId: '', ordinaryLeft: 0 }
  #calls = 0

  noteHidden(publisherId: string): void {
    if (this.#last.publisherId !== publisherId) this.#before = this.#last
    this.#last = { publisherId, ordinaryLeft: ORDINARY_ANSWERS }
    this.#calls += 1
  }

  /** Each of the two lapses by itself: one publisher cannot keep alive what another has seen long ago. */
  noteOrdinary(): void {
    this.#last.ordinaryLeft -= 1
    this.#before.ordinaryLeft -= 1
    if (this.#last.ordinaryLeft === 0) this.#calls = 0
  }

  get areBelieved(): boolean {
    return this.#before.ordinaryLeft > 0 && this.#calls >= CALLS_MIN
  }
}
