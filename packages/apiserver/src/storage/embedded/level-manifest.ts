/**
 * Reads the table files in use and the oldest relevant log from LevelDB's manifest.
 *
 * A manifest is a log of edits, each a list of tagged fields; numbers are varints. Tags: 1
 * comparator name, 2 log, 3 next file, 4 last sequence, 5 compaction pointer, 6 deleted file, 7 new
 * file, 9 previous log.
 */
export interface LiveFiles {
  readonly logNumber: number;
  readonly tables: readonly TableFile[];
}

export interface TableFile {
  readonly number: number;
  readonly bytes: number;
}

/** Undefined when an edit is invalid. */
export function readManifest(edits: readonly Buffer[]): LiveFiles | undefined {
  const tables = new Map<number, TableFile>();
  let logNumber = 0;
  for (const edit of edits) {
    const fields = new FieldReader(edit);
    while (!fields.done) {
      const tag = fields.number();
      if (tag === 1) fields.skipBytes();
      else if (tag === 2) logNumber = fields.number();
      else if (tag === 3 || tag === 4 || tag === 9) fields.number();
      else if (tag === 5) {
        fields.number();
        fields.skipBytes();
      } else if (tag === 6) {
        fields.number();
        tables.delete(fields.number());
      } else if (tag === 7) {
        fields.number();
        const table = { number: fields.number(), bytes: fields.number() };
        fields.skipBytes();
        fields.skipBytes();
        tables.set(table.number, table);
      } else return undefined;
    }
    if (fields.overrun) return undefined;
  }
  return { logNumber, tables: [...tables.values()] };
}

class FieldReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  get overrun(): boolean {
    return this.#at > this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) return value;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  skipBytes(): void {
    const length = this.number();
    this.#at += length;
  }
}
