/** A request that is another one in all but what a subclass changes. */
import type { X509Certificate } from "node:crypto";
import type { ApiRequest, HeaderRecord } from "./api-request.ts";

/** Members that a request may leave out are passed on as well. */
type Whole = { readonly [Member in keyof Required<ApiRequest>]: ApiRequest[Member] };

export class WrappedRequest implements Whole {
  readonly #inner: ApiRequest;

  constructor(inner: ApiRequest) {
    this.#inner = inner;
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

  get rawHeaders(): readonly string[] | undefined {
    return this.#inner.rawHeaders;
  }

  get remoteAddress(): string {
    return this.#inner.remoteAddress;
  }

  clientCertificate(): X509Certificate | undefined {
    return this.#inner.clientCertificate();
  }

  onAuthenticated(username: string): void {
    this.#inner.onAuthenticated?.(username);
  }

  onClose(callback: () => void): void {
    this.#inner.onClose(callback);
  }

  readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    return this.#inner.readBody(bytesMax, onPart);
  }
}
