/**
 * Writes protobuf wire format in one pass into one buffer.
 *
 * The length of a message is known only after it was written; it is a varint of four bytes, so that
 * it can be filled in afterwards. Readers accept varints that are longer than necessary.
 */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafe(4096);
  #at = 0;

  text(number: number, value: string): void {
    const length = Buffer.byteLength(value);
    this.#reserve(length + 15);
    this.#varint(number * 8 + 2);
    this.#varint(length);
    this.#at += this.#buffer.write(value, this.#at);
  }

  /** What precedes a message that is written elsewhere. */
  messageHead(number: number, length: number): void {
    this.#reserve(15);
    this.#varint(number * 8 + 2);
    this.#varint(length);
  }

  message(number: number, body: () => void): void {
    this.#reserve(15);
    this.#varint(number * 8 + 2);
    const lengthAt = this.#at;
    this.#at += 4;
    body();
    let length = this.#at - lengthAt - 4;
    for (let i = 0; i < 4; i++) {
      this.#buffer[lengthAt + i] = (length & 0x7f) | (i < 3 ? 0x80 : 0);
      length >>>= 7;
    }
  }

  integer(number: number, value: number): void {
    this.#reserve(15);
    this.#varint(number * 8);
    if (value >= 0 && value < 2 ** 31) {
      this.#varint(value);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
    for (; rest >= 0x80n; rest >>= 7n) this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80;
    this.#buffer[this.#at++] = Number(rest);
  }

  double(number: number, value: number): void {
    this.#reserve(15);
    this.#varint(number * 8 + 1);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#at));
  }

  /** At most 31 bits. */
  #varint(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#buffer[this.#at++] = (rest & 0x7f) | 0x80;
    this.#buffer[this.#at++] = rest;
  }

  #reserve(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
