/** A request whose body is remembered for the audit log, once somebody has read it. */

import type { ApiRequest } from "../request/api-request.ts";
import { WrappedRequest } from "../request/wrapped-request.ts";

export class AuditedRequest extends WrappedRequest {
  readonly #onBody: (bytes: Uint8Array) => void;

  constructor(inner: ApiRequest, onBody: (bytes: Uint8Array) => void) {
    super(inner);
    this.#onBody = onBody;
  }

  override async readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    const bytes = await super.readBody(bytesMax, onPart);
    this.#onBody(bytes);
    return bytes;
  }
}
