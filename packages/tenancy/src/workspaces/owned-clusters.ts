/**
 * The set of logical clusters that scanned Workspaces own: one number per cluster, so that a start
 * detects logical clusters without an owner among very many without reading any object twice.
 *
 * Two clusters may have the same number, about once in a thousand million starts with a hundred
 * thousand clusters each: such an orphan is found at the next start.
 */
export class OwnedClusters {
  readonly #numbers = new Set<number>();

  add(cluster: string, uid: string): void {
    this.#numbers.add(numberOf(`${cluster}/${uid}`));
  }

  has(cluster: string, uid: string): boolean {
    return this.#numbers.has(numberOf(`${cluster}/${uid}`));
  }

  clear(): void {
    this.#numbers.clear();
  }
}

/** 53 bits of two hashes (FNV-1a and a variant with another prime). */
function numberOf(text: string): number {
  let [a, b] = [0x811c9dc5, 0x9e3779b9];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
    b ^= b >>> 13;
  }
  return (a >>> 0) * 2 ** 21 + ((b >>> 0) & 0x1fffff);
}
