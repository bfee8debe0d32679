/**
 * How many bytes the text takes as UTF-8. Limits of Kubernetes count bytes, JavaScript counts
 * UTF-16 units.
 */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // A surrogate pair is two units and four bytes, so each half brings one more; a lone half
    // becomes U+FFFD, three bytes.
    bytes += unit < 0x800 || isPairHalf(text, i, unit) ? 1 : 2;
  }
  return bytes;
}

/** Whether the text takes more bytes; a text with more units than that is not counted. */
export function isLonger(text: string, bytesMax: number): boolean {
  return text.length > bytesMax || utf8Length(text) > bytesMax;
}

function isPairHalf(text: string, i: number, unit: number): boolean {
  if (unit >= 0xd800 && unit < 0xdc00) return isLow(text.charCodeAt(i + 1));
  return isLow(unit) && i > 0 && isHigh(text.charCodeAt(i - 1));
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;
