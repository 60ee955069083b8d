/** A request that the simulator cannot answer as asked. It becomes an error response in the caller's dialect. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
