/**
 * A request whose body is handed out only with a seat: the bytes are read first, so that a sender who takes his time holds nobody's seat,
 * and decoding, which is what costs, comes after.
 */
import type { X509Certificate } from "node:crypto";
import type { ApiRequest, HeaderRecord } from "../request/api-request.ts";

export class GatedRequest implements ApiRequest {
  readonly #inner: ApiRequest;
  readonly #gate: (bodyBytes: number) => Promise<void> | undefined;

  constructor(inner: ApiRequest, gate: (bodyBytes: number) => Promise<void> | undefined) {
    this.#inner = inner;
    this.#gate = gate;
  }

  get method(): string {
    return this.#inner.method;
  }

  get target(): string {
    return this.#inner.target;
  }

  get headers(): HeaderRecord {
    return this.#inner.headers;
  }

  get remoteAddress(): string {
    return this.#inner.remoteAddress;
  }

  clientCertificate(): X509Certificate | undefined {
    return this.#inner.clientCertificate();
  }

  onClose(callback: () => void): void {
    this.#inner.onClose(callback);
  }

  async readBody(bytesMax: number): Promise<Uint8Array> {
    const body = await this.#inner.readBody(bytesMax);
    const waiting = this.#gate(body.length);
    if (waiting !== undefined) await waiting;
    return body;
  }
}
