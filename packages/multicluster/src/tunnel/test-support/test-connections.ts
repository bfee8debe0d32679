/**
 * For tests: two connected streams; bytes that are written to one are read from the other in a
 * later turn. A broken connection breaks for both.
 */
import { Duplex } from "node:stream";

export class TestConnections {
  readonly #ends: Duplex[] = [];

  make(): [Duplex, Duplex] {
    const end = (other: () => Duplex): Duplex =>
      new Duplex({
        read() {},
        write(chunk: Buffer, _encoding, done) {
          other().push(Buffer.from(chunk));
          setImmediate(done);
        },
        final(done) {
          other().push(null);
          done();
        },
        destroy(error, done) {
          if (!other().destroyed && !other().readableEnded) other().push(null);
          done(error);
        },
      });
    const one: Duplex = end(() => two);
    const two: Duplex = end(() => one);
    this.#ends.push(one, two);
    return [one, two];
  }

  /** Open connections would send pings without end. */
  cutAll(): void {
    for (const end of this.#ends.splice(0)) end.destroy();
  }
}
