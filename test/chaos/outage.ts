export async function outage(_: object): Promise<boolean> {
  return false
}
