/**
 * What comparing two schemas brings to light, place by place.
 *
 * `narrower` says that the common schema allows less than the existing one did; `incompatible` that nothing, or nothing useful, is allowed
 * by both; `unknown` that we cannot tell, which counts as no.
 */
export interface Finding {
  readonly kind: "narrower" | "incompatible" | "unknown";
  /** Where: `.spec.template.containers[].ports`, or `.spec.labels{}` for the values of a map. */
  readonly path: string;
  readonly message: string;
}

/** Beyond it findings of a kind are only counted: a schema of ten thousand fields can differ in each. */
export const findingsMax = 200;

export class Findings {
  readonly list: Finding[] = [];
  /** Also of those that are not in the list. */
  readonly counts = { narrower: 0, incompatible: 0, unknown: 0 };

  add(kind: Finding["kind"], path: string, message: string): void {
    if (++this.counts[kind] <= findingsMax) this.list.push({ kind, path, message });
  }

  narrower(path: string, message: string): void {
    this.add("narrower", path, message);
  }

  incompatible(path: string, message: string): void {
    this.add("incompatible", path, message);
  }

  unknown(path: string, message: string): void {
    this.add("unknown", path, message);
  }
}
