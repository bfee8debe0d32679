/**
 * The annotations of a request's events: what the server notes, and what webhooks and policies of tenants want noted.
 *
 * The first value of a key stays, as in Kubernetes: what the server has said before them, they cannot unsay.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { qualifiedNameErrors } from "@kcp-ts/machinery/names";

/** Of one request; those beyond it are left out. */
export const auditAnnotationsMax = 256;
/** Keys and values of one request together, in UTF-16 units: the log is the operator's, and tenants fill it. */
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

  /** `<domain>/<name>`, or it is not taken. */
  addForeign(key: string, value: string): void {
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
