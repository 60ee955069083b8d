/**
 * Reads the body of one answer in two steps: it is cut into parts as its bytes come, which is cheap, and the parts are read when
 * somebody waits for what is in them.
 */
export interface BodyReader<Part, Piece> {
  /** Adds the parts that end in these bytes. What it throws comes after those that it has added. */
  split(bytes: Buffer, parts: Part[]): void
  /** Adds the last part, if nothing but the end of the body ends it. */
  splitRest(parts: Part[]): void
  read(part: Part): readonly Piece[]
  /** The body, or what is of interest of it, has ended. Throws if the answer has not; returns what is left of it. */
  end(): readonly Piece[]
  /** Asked after a part was read: whether nothing of interest comes after it. */
  isLast(part: Part): boolean
  /** Whether anything of the answer has come. Until then the first-token timer runs. */
  hasBegun(): boolean
  /** How many parts are read at once. Others have their turn before the next ones. */
  readonly partsPerStep: number
}
