export async function overdraft(_: object): Promise<boolean> {
  return false
}
