/**
 * A request whose body is handed out only with a seat: the bytes are read first, so that a sender who takes his time holds nobody's seat,
 * and decoding, which is what costs, comes after.
 */
import type { ApiRequest } from "../request/api-request.ts";
import { WrappedRequest } from "../request/wrapped-request.ts";

export interface BodyGate {
  /** As bytes come; throws when there is no memory for more. */
  reserve(bytes: number): void;
  /** When the last byte is there. */
  admit(bytes: number): Promise<void> | undefined;
}

export class GatedRequest extends WrappedRequest {
  readonly #gate: BodyGate;

  constructor(inner: ApiRequest, gate: BodyGate) {
    super(inner);
    this.#gate = gate;
  }

  override async readBody(bytesMax: number): Promise<Uint8Array> {
    const body = await super.readBody(bytesMax, (bytes) => this.#gate.reserve(bytes));
    const waiting = this.#gate.admit(body.length);
    if (waiting !== undefined) await waiting;
    return body;
  }
}
