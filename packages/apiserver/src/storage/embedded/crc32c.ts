/**
 * CRC-32C (Castagnoli), the checksum of LevelDB's files; `zlib.crc32` is another polynomial.
 * Processes eight bytes at a step: some hundred MB/s.
 */
export function crc32c(bytes: Uint8Array, start: number, end: number): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as unknown as EightTables;
  let crc = -1;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    const low =
      crc ^
      ((bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24));
    crc =
      (t7[low & 0xff] as number) ^
      (t6[(low >>> 8) & 0xff] as number) ^
      (t5[(low >>> 16) & 0xff] as number) ^
      (t4[low >>> 24] as number) ^
      (t3[bytes[at + 4] as number] as number) ^
      (t2[bytes[at + 5] as number] as number) ^
      (t1[bytes[at + 6] as number] as number) ^
      (t0[bytes[at + 7] as number] as number);
  }
  for (; at < end; at++) {
    crc = (crc >>> 8) ^ (t0[(crc ^ (bytes[at] as number)) & 0xff] as number);
  }
  return ~crc >>> 0;
}

/**
 * LevelDB stores checksums masked, so that a checksum over bytes with embedded checksums stays
 * strong.
 */
export function unmaskCrc32c(masked: number): number {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}

type EightTables = readonly [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

const tables = makeTables();

function makeTables(): Int32Array[] {
  const made = Array.from({ length: 8 }, () => new Int32Array(256));
  const [first] = made as unknown as EightTables;
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    first[byte] = crc;
  }
  for (let step = 1; step < 8; step++) {
    for (let byte = 0; byte < 256; byte++) {
      const before = made[step - 1]?.[byte] as number;
      (made[step] as Int32Array)[byte] = (before >>> 8) ^ (first[before & 0xff] as number);
    }
  }
  return made;
}
