/** For tests: two ends of a wire; what is written to one is read from the other, in a later turn. One that breaks, breaks for both. */
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

  /** What is open would ping until the end of days. */
  cutAll(): void {
    for (const end of this.#ends.splice(0)) end.destroy();
  }
}
