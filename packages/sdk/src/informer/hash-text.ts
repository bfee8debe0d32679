/** FNV-1a over the UTF-16 units, its upper bits mixed into the lower ones. */
export function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value ^ (value >>> 15);
}
