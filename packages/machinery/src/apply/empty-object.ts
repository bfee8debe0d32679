/** Whether an object has no members, without listing them. */
export function isEmptyObject(object: object): boolean {
  for (const _ in object) return false;
  return true;
}
