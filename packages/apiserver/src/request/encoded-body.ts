/** A body as JSON in UTF-8, in parts. Calls with the same body share the bytes of a part. */
export class EncodedBody {
  readonly parts: readonly Uint8Array[];
  readonly length: number;

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts;
    this.length = parts.reduce((sum, part) => sum + part.length, 0);
  }
}
