/** FNV-1a over the bytes from `start` to `end`, its upper bits mixed into the lower ones. */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let i = start; i < end; i++) value = Math.imul(value ^ (bytes[i] as number), 0x01000193);
  return value ^ (value >>> 15);
}
