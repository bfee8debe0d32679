/**
 * Orders texts by their UTF-8 bytes, as Go does. Plain `<` orders UTF-16 units and puts U+FFFF
 * after U+10000.
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return x < 0xd800 || y < 0xd800 ? x - y : byCodePoint(x) - byCodePoint(y);
  }
  return a.length - b.length;
}

/** Surrogates encode code points above all other units. */
function byCodePoint(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}
