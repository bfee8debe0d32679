/** Standard base64, without relying on the platform: this package runs in browsers as well. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Map([...ALPHABET].map((character, i) => [character.charCodeAt(0), i]));

export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    text += ALPHABET.charAt(group >> 18) + ALPHABET.charAt((group >> 12) & 63);
    text += i + 1 < bytes.length ? ALPHABET.charAt((group >> 6) & 63) : "=";
    text += i + 2 < bytes.length ? ALPHABET.charAt(group & 63) : "=";
  }
  return text;
}

/** Decodes padded base64, and unpadded base64 as well; undefined for anything else. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const end = text.endsWith("==")
    ? text.length - 2
    : text.endsWith("=")
      ? text.length - 1
      : text.length;
  if (end !== text.length && text.length % 4 !== 0) return undefined;
  if (end % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((end * 3) / 4));
  let group = 0;
  let bits = 0;
  let at = 0;
  for (let i = 0; i < end; i++) {
    const value = VALUES.get(text.charCodeAt(i));
    if (value === undefined) return undefined;
    group = ((group << 6) | value) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (group >> bits) & 0xff;
    }
  }
  return bytes;
}
