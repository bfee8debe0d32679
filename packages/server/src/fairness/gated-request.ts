/**
 * A request whose body is handed out only with a seat: the bytes are read first, so that a sender who takes his time holds nobody's seat,
 * and decoding, which is what costs, comes after.
 */
import type { ApiRequest } from "../request/api-request.ts";
import { WrappedRequest } from "../request/wrapped-request.ts";

export interface BodyGate {
  /** Before the first byte is read; throws when there is no memory for it. Undefined when nobody says how long it is. */
  reserve(bytes: number | undefined): void;
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
    const announced = Number(this.headers["content-length"] ?? Number.NaN);
    this.#gate.reserve(Number.isFinite(announced) ? Math.min(announced, bytesMax) : undefined);
    const body = await super.readBody(bytesMax);
    const waiting = this.#gate.admit(body.length);
    if (waiting !== undefined) await waiting;
    return body;
  }
}
