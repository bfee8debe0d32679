/**
 * The annotations of a request's audit events: those of the server, and those of tenants' webhooks
 * and policies.
 *
 * The first value of a key stays, as in Kubernetes: tenants cannot replace the server's
 * annotations.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { qualifiedNameErrors } from "@kcp-ts/machinery/names";

/** The number of annotations of one request; further ones are dropped. */
export const auditAnnotationsMax = 256;
/**
 * Keys and values of one request together, in UTF-16 units: tenants write into the operator's log.
 */
export const auditAnnotationsLengthMax = 256 * 1024;

export class AuditAnnotations {
  readonly #values = new Map<string, string>();
  #length = 0;

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  add(key: string, value: string): void {
    if (this.#values.has(key)) return;
    this.#values.set(key, value);
    this.#length += key.length + value.length;
  }

  /** Adds an annotation whose key has the form `<domain>/<name>`; drops others. */
  addFromTenant(key: string, value: string): void {
    if (!key.includes("/") || qualifiedNameErrors(key).length > 0) return;
    const length = this.#length + key.length + value.length;
    if (this.#values.size < auditAnnotationsMax && length <= auditAnnotationsLengthMax)
      this.add(key, value);
    else this.add("audit.k8s.io/truncated", "true");
  }

  toJson(): JsonObject {
    return Object.fromEntries(this.#values);
  }
}
